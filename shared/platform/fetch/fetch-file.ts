import { lookup as lookUp } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { ErrorCode } from '../errors/catalogue.ts'
import { Failure, fail } from '../errors/failure.ts'
import { fileUrl, isPublicAddress, literalAddress, privateRange } from './public-address.ts'

/** How files are fetched; tests put servers of their own in place of the internet. */
export interface Network {
  /** Every address of a name. */
  resolve(name: string): Promise<string[]>
  mayReach(address: string): boolean
  request(url: URL, options: RequestOptions): ReturnType<typeof httpsRequest>
}

export const internet: Network = {
  resolve: async (name) => (await lookUp(name, { all: true, verbatim: true })).map(({ address }) => address),
  mayReach: isPublicAddress,
  request: httpsRequest,
}

export interface FetchRequest {
  url: string
  /** The field of the request that named it, for what is told of it. */
  field: string
  maxBytes: number
  /** The code of a file that is larger; answered as 413. */
  tooLarge: ErrorCode
  /** Of the whole fetch. */
  signal: AbortSignal
}

const mostRedirects = 5
/** Without a byte for so long, a server counts as gone. */
const silenceMilliseconds = 10_000

/**
 * Fetches a file by https as its bytes come. Each name on the way is resolved once, every address of it must be
 * public, and the connection goes to one of the addresses that were checked: what the name stands for later does not
 * matter.
 * @throws VALIDATION.url.private_range, VALIDATION.field.format (of a redirect), DEPENDENCY.bad_gateway when it cannot
 * be had, and the code for a file that is larger than allowed
 */
export async function* fetchFile(request: FetchRequest, network: Network): AsyncGenerator<Uint8Array> {
  const { field, maxBytes: max, tooLarge: code } = request
  const answer = await follow(request, network)
  const tooLarge = (actual: number) =>
    fail(code, { http: 413, details: { fields: { [field]: { reason: 'too_large', max, actual } } } })
  try {
    const announced = Number(answer.headers['content-length'] ?? 0)
    if (announced > max) throw tooLarge(announced)
    let bytes = 0
    for await (const chunk of answer) {
      bytes += chunk.length
      if (bytes > max) throw tooLarge(bytes)
      yield chunk
    }
    if (!answer.complete) throw unreachable('incomplete')
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : unreachable('interrupted', thrown)
  } finally {
    answer.destroy()
  }
}

async function follow(
  { url: first, field, signal }: FetchRequest,
  network: Network,
): Promise<IncomingMessage> {
  let url = fileUrl(first, field)
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const answer = await ask(url, await checkedAddress(url, field, network), signal, network)
    const { statusCode = 0, headers } = answer
    if (statusCode === 200 && (headers['content-encoding'] ?? 'identity') === 'identity') return answer
    answer.destroy()
    if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) {
      throw unreachable(statusCode === 200 ? 'encoded' : `status_${statusCode}`)
    }
    if (!URL.canParse(headers.location, url.href)) throw unreachable('redirect')
    url = fileUrl(new URL(headers.location, url).href, field)
  }
  throw unreachable('redirects')
}

/** @throws VALIDATION.url.private_range if any of a name's addresses is not public */
async function checkedAddress(url: URL, field: string, network: Network): Promise<string> {
  const literal = literalAddress(url)
  const addresses =
    literal === undefined
      ? await network.resolve(url.hostname).catch((cause) => {
          throw unreachable('name', cause)
        })
      : [literal]
  const [address] = addresses
  if (address === undefined) throw unreachable('name')
  if (!addresses.every(network.mayReach)) throw privateRange(field)
  return address
}

function ask(url: URL, address: string, signal: AbortSignal, network: Network): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = {
      signal,
      timeout: silenceMilliseconds,
      agent: false,
      headers: { Accept: 'text/csv, */*;q=0.1', 'Accept-Encoding': 'identity', 'User-Agent': 'commerce-api' },
      // The name is never asked for again: it could stand for another address by then.
      lookup: (_name, { all }, done) => {
        const family = isIP(address)
        if (all) done(null, [{ address, family }])
        else done(null, address, family)
      },
    }
    const asked = network.request(url, options)
    asked.on('response', resolve)
    asked.on('timeout', () => asked.destroy(new Error('silence')))
    asked.on('error', (cause) => reject(unreachable('connection', cause)))
    asked.end()
  })
}

/** The host of the file is to blame, and may do better later. */
function unreachable(reason: string, cause?: unknown): Failure {
  return fail('DEPENDENCY.bad_gateway', { details: { reason }, cause })
}
