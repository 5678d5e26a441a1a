import createClient from 'openapi-fetch'
import { BareAnswerError, CommerceError, envelopeOf } from './errors.ts'
import type { Data, Item, ListPath, Method, Options, Page, PathWith, Query } from './operations.ts'
import { type Clock, retryingFetch, systemClock } from './retrying-fetch.ts'

export * from './errors.ts'

export interface ClientOptions {
  /** Where the service is, with the stage if it has one: `https://api.example.com/prod`. */
  baseUrl: string
  /** An access token, or what gives one: asked before each attempt, so that it may hand out a fresh one. */
  token?: string | (() => string | Promise<string>)
  /** Sent with every call. */
  headers?: Record<string, string>
  /** The time of one attempt in milliseconds; 5000 unless told. A whole call has 10 s, whatever this is. */
  attemptMilliseconds?: number
  fetch?: (request: Request) => Promise<Response>
  clock?: Clock
  /** A number from 0 up to 1. */
  random?: () => number
  /** A new Idempotency-Key. */
  newKey?: () => string
}

/** What a call that succeeded answers. */
export interface Answer<Body> {
  data: Body
  status: number
  /** Whether an earlier call with this key had the effect already. */
  replayed: boolean
  /** For If-Match and If-None-Match. */
  etag: string | undefined
  correlation_id: string | undefined
  /** What was sent; undefined for a read. */
  idempotency_key: string | undefined
  response: Response
}

type Call<M extends Method> = <P extends PathWith<M>, O extends Options<P, M>>(
  path: P,
  ...options: object extends Options<P, M> ? [O?] : [O]
) => Promise<Answer<Data<P, M, O>>>

/**
 * The service, typed by openapi.json. A call that does not succeed throws an error of client/errors.ts, the reason of
 * the signal that ended it, or what the token's function threw.
 */
export interface CommerceClient {
  GET: Call<'get'>
  POST: Call<'post'>
  PATCH: Call<'patch'>
  DELETE: Call<'delete'>
  /** The pages of a list, from the first on. */
  pages<P extends ListPath>(path: P, query?: Query<P>): AsyncGenerator<Page<P>, void>
  /** The items of a list, page by page: none is repeated or skipped while others are added. */
  items<P extends ListPath>(path: P, query?: Query<P>): AsyncGenerator<Item<P>, void>
  orders(query?: Query<'/v1/orders'>): AsyncGenerator<Item<'/v1/orders'>, void>
  codes(query?: Query<'/codes'>): AsyncGenerator<Item<'/codes'>, void>
}

interface AnyOptions {
  params?: { header?: Record<string, unknown>; query?: object }
  headers?: Record<string, unknown>
  body?: unknown
}

/** A client of the service at `baseUrl`. It retries by the contract's rule and makes the keys that this needs. */
export function commerceClient(options: ClientOptions): CommerceClient {
  const { token, newKey = () => crypto.randomUUID() } = options
  const client = createClient<Record<string, never>>({
    baseUrl: options.baseUrl,
    headers: options.headers ?? {},
    // Lists of values are separated by commas, as openapi.json says of each.
    querySerializer: { array: { style: 'form', explode: false } },
    bodySerializer: (body) => (typeof body === 'string' ? body : JSON.stringify(body)),
    fetch: retryingFetch({
      fetch: options.fetch ?? ((request) => fetch(request)),
      token: () => (typeof token === 'function' ? token() : token),
      attemptMilliseconds: options.attemptMilliseconds ?? 5000,
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
    }),
  })
  const send = client.request as (
    method: Method,
    path: string,
    options: object,
  ) => Promise<{ data?: unknown; error?: unknown; response: Response }>

  async function call(method: Method, path: string, given: AnyOptions = {}): Promise<Answer<unknown>> {
    const header = { ...given.params?.header }
    if (method !== 'get') header['Idempotency-Key'] ??= newKey()
    const key = header['Idempotency-Key'] as string | undefined
    // The only bodies that are text are CSV.
    const headers = {
      ...(typeof given.body === 'string' && { 'Content-Type': 'text/csv' }),
      ...given.headers,
    }
    const { data, error, response } = await send(method, path, {
      ...given,
      headers,
      params: { ...given.params, header },
    })
    if (!response.ok && response.status !== 304) throw refusal(error, response, key)
    return {
      data,
      status: response.status,
      replayed: response.headers.get('Idempotency-Status') === 'replayed',
      etag: response.headers.get('ETag') ?? undefined,
      correlation_id: response.headers.get('X-Correlation-Id') ?? undefined,
      idempotency_key: key,
      response,
    }
  }

  async function* pages(path: string, query: object = {}) {
    for (let cursor: string | undefined; ; ) {
      const { data } = await call('get', path, { params: { query: { ...query, cursor } } })
      const page = data as { data: unknown[]; next_cursor: string | null }
      yield page
      if (page.next_cursor === null) return
      cursor = page.next_cursor
    }
  }

  async function* items(path: string, query?: object) {
    for await (const page of pages(path, query)) yield* page.data
  }

  const untyped = {
    ...{ GET: bound('get'), POST: bound('post'), PATCH: bound('patch'), DELETE: bound('delete') },
    pages,
    items,
    orders: (query?: object) => items('/v1/orders', query),
    codes: (query?: object) => items('/codes', query),
  }
  return untyped as unknown as CommerceClient

  function bound(method: Method) {
    return (path: string, given?: AnyOptions) => call(method, path, given)
  }
}

function refusal(error: unknown, response: Response, key: string | undefined) {
  const envelope = envelopeOf(error)
  return envelope ? new CommerceError(envelope, response, key) : new BareAnswerError(response, key)
}
