import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { Failure } from '../platform/base/failure.ts'
import { checkedAddresses, connectionTo, type Network } from '../platform/formats/fetch-file.ts'
import type { Settings } from '../settings/register.ts'
import { mayReach, subscriberResolver } from '../subscribers/subscriber-address.ts'

/** A call of a subscriber. */
export interface SubscriberRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  /** Includes reading the first kilobyte of the response. */
  timeoutMilliseconds: number
  /** From this time on, the call goes on only if it may. */
  slow: { afterMilliseconds: number; mayContinue(): Promise<boolean> }
}

/** The response of a subscriber, or why there is none. */
export type SubscriberResponse =
  | { status: number; answer: string; retryAfter?: string | undefined }
  | { reason: 'timeout' | 'connection' | 'address' | 'no_slot' }

export type CallSubscriber = (request: SubscriberRequest) => Promise<SubscriberResponse>

/** The bytes of a response that are read and kept. */
const maxAnswerBytes = 1024

/** Returns the network of subscribers: the internet, and the machine itself if deliveries.addresses permits it. */
export function subscriberNetwork(settings: Settings): Network {
  return {
    resolve: subscriberResolver(settings),
    mayReach: (address) => mayReach(address, settings),
    request: (url, options) => (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, options),
  }
}

/**
 * Posts a body to a subscriber. The address of its name is checked as the connection is made, and a redirect is not
 * followed.
 */
export async function callSubscriber(
  request: SubscriberRequest,
  network: Network,
): Promise<SubscriberResponse> {
  const { timeoutMilliseconds, slow } = request
  const aborted = new AbortController()
  const ended = Promise.withResolvers<SubscriberResponse>()
  const timers = [
    setTimeout(() => ended.resolve({ reason: 'timeout' }), timeoutMilliseconds),
    setTimeout(async () => {
      try {
        if (!(await slow.mayContinue())) ended.resolve({ reason: 'no_slot' })
      } catch (fault) {
        ended.reject(fault)
      }
    }, slow.afterMilliseconds),
  ]
  try {
    return await Promise.race([ended.promise, responseOf(request, network, aborted.signal)])
  } finally {
    for (const timer of timers) clearTimeout(timer)
    aborted.abort()
  }
}

async function responseOf(
  { url: text, headers, body }: SubscriberRequest,
  network: Network,
  signal: AbortSignal,
): Promise<SubscriberResponse> {
  try {
    const url = new URL(text)
    const addresses = await checkedAddresses(url, { field: 'url', signal }, network)
    const response = await post(url, { ...connectionTo(addresses), headers, signal }, { body, network })
    const answer = await firstBytes(response)
    return { status: response.statusCode ?? 0, answer, retryAfter: response.headers['retry-after'] }
  } catch (thrown) {
    const isRefused = thrown instanceof Failure && thrown.code === 'VALIDATION.url.private_range'
    return { reason: isRefused ? 'address' : 'connection' }
  }
}

function post(
  url: URL,
  options: Pick<RequestOptions, 'agent' | 'lookup' | 'headers' | 'signal'>,
  { body, network }: { body: string; network: Network },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = network.request(url, {
      ...options,
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        'Accept-Encoding': 'identity',
        'User-Agent': 'commerce-api',
        ...options.headers,
      },
    })
    sent.on('response', resolve)
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Returns the start of a response as text, without a character that is cut. */
export async function firstBytes(
  response: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxAnswerBytes) break
  }
  return truncatedText(Buffer.concat(chunks), maxAnswerBytes)
}

/** Returns the text of at most so many bytes. */
export function truncatedText(bytes: Uint8Array, most: number): string {
  return new TextDecoder().decode(bytes.subarray(0, most), { stream: true })
}
