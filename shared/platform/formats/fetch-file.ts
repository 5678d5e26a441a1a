import { Resolver } from 'node:dns/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { ErrorCode } from '../../error-catalog.ts'
import { withTimeout } from '../base/clock.ts'
import { Failure, fail, failField } from '../base/failure.ts'
import { fileUrl, isPublicAddress, literalAddress, privateRange } from './public-address.ts'

/** The network for fetching files; tests replace the internet with local servers. */
export interface Network {
  /** Returns all addresses of a name. Ends early if the signal aborts. */
  resolve(name: string, signal?: AbortSignal): Promise<string[]>
  mayReach(address: string): boolean
  request(url: URL, options: RequestOptions): ReturnType<typeof httpsRequest>
}

export const internet: Network = {
  resolve: resolverOf({ timeoutMilliseconds: 2000 }),
  mayReach: isPublicAddress,
  request: httpsRequest,
}

/**
 * Returns a function that asks the name servers, those of the system if there are no others. `dns.lookup` has four threads
 * for all names, so slow servers of one name would delay the others. An address of one family is enough.
 */
export function resolverOf({
  timeoutMilliseconds: timeout,
  servers,
}: {
  timeoutMilliseconds: number
  servers?: readonly string[]
}): Network['resolve'] {
  return async (name, signal) => {
    signal?.throwIfAborted()
    const resolver = new Resolver({ timeout, tries: 1 })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal?.addEventListener('abort', cancel)
    const families = [resolver.resolve4(name), resolver.resolve6(name)] as const
    const [first, second] = await Promise.allSettled(families)
    signal?.removeEventListener('abort', cancel)
    const addresses = [first, second].flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    if (addresses.length === 0 && first.status === 'rejected') throw first.reason
    return addresses
  }
}

export interface FetchRequest {
  url: string
  /** The request field that contains the URL, for error details. */
  field: string
  maxBytes: number
  /** The error code of a larger file, with status 413. */
  tooLarge: ErrorCode
  /** The minimum average rate at which the host sends the file, and how long it may be slower. */
  limits: { minBytesPerSecond: number; graceSeconds: number }
  /** Aborts when the host's time is up. */
  deadline: AbortSignal
  /** Aborts when the service's own time is up. */
  signal: AbortSignal
}

/** A failure of the host of a file, which the service does not retry. */
export class HostFailure extends Failure {}

const maxRedirects = 5
/** A connection without data for this long counts as lost. */
const silenceMilliseconds = 10_000
/** The time limit for the head of a response, including name lookup and handshakes. */
const headMilliseconds = 10_000

/**
 * Fetches a file over HTTPS and yields its bytes as they arrive. Each host name, also of redirects, is resolved once.
 * All its addresses must be public, and the connection goes to one of these: later DNS changes have no effect.
 * @throws VALIDATION.url.private_range, VALIDATION.field.format (of a redirect), `tooLarge` for a larger file,
 * HostFailure with DEPENDENCY.timeout for a host that is too slow and DEPENDENCY.bad_gateway for one that fails,
 * DEPENDENCY.timeout when the service's own time is up
 */
export async function* fetchFile(request: FetchRequest, network: Network): AsyncGenerator<Uint8Array> {
  try {
    yield* fetchBytes(request, network)
  } catch (thrown) {
    if (request.signal.aborted) throw fail('DEPENDENCY.timeout', { cause: thrown })
    if (request.deadline.aborted) throw tooSlow('deadline')
    throw thrown instanceof Failure ? thrown : unreachable('interrupted', thrown)
  }
}

async function* fetchBytes(request: FetchRequest, network: Network): AsyncGenerator<Uint8Array> {
  const { field, maxBytes: max, tooLarge: code, limits } = request
  const answer = await follow(request, network)
  const tooLarge = (actual: number) =>
    failField(code, field, { reason: 'too_large', max, actual }, { http: 413 })
  try {
    const announced = Number(answer.headers['content-length'] ?? 0)
    if (announced > max) throw tooLarge(announced)
    let bytes = 0
    let waited = 0
    const chunks = answer[Symbol.asyncIterator]()
    for (;;) {
      // Only time spent waiting for the host counts.
      const asked = performance.now()
      const allowed = 1000 * Math.max(limits.graceSeconds, bytes / limits.minBytesPerSecond)
      const { done, value: chunk } = await withTimeout(chunks.next(), allowed - waited, () => tooSlow('rate'))
      if (done) break
      waited += performance.now() - asked
      bytes += chunk.length
      if (bytes > max) throw tooLarge(bytes)
      yield chunk
    }
    if (!answer.complete) throw unreachable('incomplete')
  } finally {
    answer.destroy()
  }
}

async function follow(request: FetchRequest, network: Network): Promise<IncomingMessage> {
  const { url: first, field } = request
  let url = fileUrl(first, field)
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const answer = await responseHead(url, request, network)
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

/** Returns the response of a URL. @throws HostFailure if its head takes too long, even if it arrives byte by byte */
async function responseHead(
  url: URL,
  { field, signal, deadline }: FetchRequest,
  network: Network,
): Promise<IncomingMessage> {
  const given = new AbortController()
  const anySignal = AbortSignal.any([signal, deadline, given.signal])
  const asking = checkedAddresses(url, { field, signal: anySignal }, network).then((addresses) =>
    ask(url, addresses, anySignal, network),
  )
  try {
    return await withTimeout(asking, headMilliseconds, () => tooSlow('head'))
  } catch (thrown) {
    given.abort()
    throw thrown
  }
}

/**
 * Returns the addresses of a URL's host.
 * @throws VALIDATION.url.private_range if one of them may not be reached; HostFailure if the name has none
 */
export async function checkedAddresses(
  url: URL,
  { field, signal }: Pick<FetchRequest, 'field' | 'signal'>,
  network: Pick<Network, 'resolve' | 'mayReach'>,
): Promise<readonly string[]> {
  const literal = literalAddress(url)
  const resolved = literal === undefined ? network.resolve(url.hostname, signal) : [literal]
  const addresses = await Promise.resolve(resolved).catch((cause) => {
    throw unreachable('name', cause)
  })
  if (addresses.length === 0) throw unreachable('name')
  if (!addresses.every(network.mayReach)) throw privateRange(field)
  return addresses
}

/** Returns the options of a connection to these addresses: the name is not resolved again, as it could have others then. */
export function connectionTo(addresses: readonly string[]): Pick<RequestOptions, 'agent' | 'lookup'> {
  return {
    agent: false,
    lookup: (_name, { all }, done) => {
      const known = addresses.map((address) => ({ address, family: isIP(address) }))
      const [{ address, family } = { address: '', family: 0 }] = known
      if (all) done(null, known)
      else done(null, address, family)
    },
  }
}

function ask(
  url: URL,
  addresses: readonly string[],
  signal: AbortSignal,
  network: Network,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = {
      signal,
      timeout: silenceMilliseconds,
      ...connectionTo(addresses),
      headers: { Accept: 'text/csv, */*;q=0.1', 'Accept-Encoding': 'identity', 'User-Agent': 'commerce-api' },
    }
    const asked = network.request(url, options)
    asked.on('response', resolve)
    asked.on('timeout', () => asked.destroy(new Error('silence')))
    asked.on('error', (cause) => reject(unreachable('connection', cause)))
    asked.end()
  })
}

/** Returns a failure of the host, which may recover later. */
function unreachable(reason: string, cause?: unknown): HostFailure {
  return new HostFailure('DEPENDENCY.bad_gateway', { details: { reason }, cause })
}

/** @param limit the limit that the host exceeded */
function tooSlow(limit: string): HostFailure {
  return new HostFailure('DEPENDENCY.timeout', { details: { reason: 'too_slow', limit } })
}
