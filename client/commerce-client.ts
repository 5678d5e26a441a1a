import createClient, { type HeadersOptions, mergeHeaders } from 'openapi-fetch'
import { BareAnswerError, CallError, CommerceError, envelopeOf } from './errors.ts'
import type { Data, Item, ListPath, Method, Options, Page, PathWith, Query } from './operations.ts'
import { type Clock, retryingFetch, systemClock } from './retrying-fetch.ts'

export * from './errors.ts'
export type * from './schema.ts'

export interface ClientOptions {
  /** The base URL of the service, including the stage if there is one: `https://api.example.com/prod`. */
  baseUrl: string
  /**
   * An access token, or a function that returns one. The function is called before each attempt, so it can refresh.
   */
  token?: string | (() => string | Promise<string>)
  /** Sent with every call. */
  headers?: Record<string, string>
  /** The timeout of one attempt in milliseconds; 5000 by default. A whole call has 10 s, whatever this value is. */
  attemptMilliseconds?: number
  fetch?: (request: Request) => Promise<Response>
  clock?: Clock
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random?: () => number
  /** Returns a new Idempotency-Key. */
  newKey?: () => string
}

/** The result of a successful call. */
export interface Answer<Body> {
  data: Body
  status: number
  /** True if an earlier call with this key already had the effect. */
  replayed: boolean
  /** For If-Match and If-None-Match. */
  etag: string | undefined
  correlation_id: string | undefined
  /** The key that was sent; undefined for a read. */
  idempotency_key: string | undefined
  response: Response
}

type Call<M extends Method> = <P extends PathWith<M>, O extends Options<P, M>>(
  path: P,
  ...options: object extends Options<P, M> ? [O?] : [O]
) => Promise<Answer<Data<P, M, O>>>

/**
 * The service, typed by openapi.json.
 * @throws CallError, with the key of the call; TypeError for a key that is undefined or empty, before any attempt
 */
export interface CommerceClient {
  GET: Call<'get'>
  POST: Call<'post'>
  PUT: Call<'put'>
  PATCH: Call<'patch'>
  DELETE: Call<'delete'>
  /** Yields the pages of a list, starting with the first. */
  pages<P extends ListPath>(path: P, query?: Query<P>): AsyncGenerator<Page<P>, void>
  /** Yields the items of a list, page by page. No item is repeated or skipped while others are added. */
  items<P extends ListPath>(path: P, query?: Query<P>): AsyncGenerator<Item<P>, void>
  orders(query?: Query<'/v1/orders'>): AsyncGenerator<Item<'/v1/orders'>, void>
  codes(query?: Query<'/codes'>): AsyncGenerator<Item<'/codes'>, void>
}

const keyHeader = 'Idempotency-Key'

interface AnyOptions {
  params?: { header?: HeadersOptions; query?: object }
  headers?: HeadersOptions
  body?: unknown
  parseAs?: string
}

/**
 * Creates a client of the service at `baseUrl`. It retries failed attempts and generates Idempotency-Keys.
 * @throws TypeError if `baseUrl` is not an absolute URL
 */
export function commerceClient(options: ClientOptions): CommerceClient {
  const { token, newKey = () => crypto.randomUUID() } = options
  if (!URL.canParse(options.baseUrl))
    throw new TypeError(`baseUrl is not an absolute URL: '${options.baseUrl}'`)
  const client = createClient<Record<string, never>>({
    baseUrl: options.baseUrl,
    headers: options.headers ?? {},
    // openapi.json defines comma-separated values for every list parameter.
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
    const key = keyOf(given) ?? (method === 'get' ? undefined : checkedKey(newKey()))
    const headers = mergeHeaders(
      // CSV is the only body that is sent as text.
      typeof given.body === 'string' ? { 'Content-Type': 'text/csv' } : {},
      mergeable(given.headers),
      mergeable(given.params?.header),
      key === undefined ? {} : { [keyHeader]: key },
    )
    const { data, error, response } = await send(method, path, {
      ...given,
      parseAs: given.parseAs ?? 'text',
      headers,
      params: { ...given.params, header: {} },
    }).catch((thrown) => {
      // For example, a middleware of the caller failed, or the content has not the form of `parseAs`.
      throw thrown instanceof CallError ? thrown : new CallError('the call failed', key, { cause: thrown })
    })
    if (!response.ok && response.status !== 304) throw refusal(error, response, key)
    return {
      data: given.parseAs === undefined ? contentOf(data, response, key) : data,
      status: response.status,
      replayed: response.headers.get('Idempotency-Status') === 'replayed',
      etag: response.headers.get('ETag') ?? undefined,
      correlation_id: response.headers.get('X-Correlation-Id') ?? undefined,
      idempotency_key: key,
      response,
    }
  }

  async function* pages(path: string, first: { offset?: number } = {}) {
    // An offset is part of the cursor that follows it.
    const { offset: _, ...later } = first
    for (let query: object = first; ; ) {
      const { data } = await call('get', path, { params: { query } })
      const page = data as { data: unknown[]; next_cursor: string | null }
      yield page
      if (page.next_cursor === null) return
      query = { ...later, cursor: page.next_cursor }
    }
  }

  async function* items(path: string, query?: object) {
    for await (const page of pages(path, query)) yield* page.data
  }

  const untyped = {
    ...{
      GET: bound('get'),
      POST: bound('post'),
      PUT: bound('put'),
      PATCH: bound('patch'),
      DELETE: bound('delete'),
    },
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

/**
 * Returns the key that the caller passed.
 * @throws TypeError if it is undefined or empty: a new key would repeat the effect of a call whose key was lost
 */
function keyOf({ params, headers }: AnyOptions): string | undefined {
  const sent = [headers, params?.header].flatMap((each) =>
    each && Symbol.iterator in each ? [...each] : Object.entries(each ?? {}),
  )
  const keys = sent.filter(([name]) => name.toLowerCase() === keyHeader.toLowerCase())
  return keys.map(([, key]) => checkedKey(key)).at(-1)
}

/** Returns headers that openapi-fetch can merge: it ignores lists of pairs and `Headers` of another realm or package. */
function mergeable(headers: HeadersOptions | undefined): HeadersOptions {
  return headers && Symbol.iterator in headers ? new Headers([...headers]) : (headers ?? {})
}

function checkedKey(key: unknown): string {
  if (typeof key === 'string' && key.trim() !== '') return key
  throw new TypeError(
    `the Idempotency-Key is ${key === undefined ? 'undefined' : 'empty'}: pass one, or none at all`,
  )
}

/**
 * Returns the content of a success: a text for CSV, or else a value of JSON.
 * @throws BareAnswerError if it is neither
 */
function contentOf(text: unknown, response: Response, key: string | undefined): unknown {
  if (!text) return undefined
  if (response.headers.get('Content-Type')?.startsWith('text/csv')) return text
  try {
    return JSON.parse(String(text))
  } catch (cause) {
    throw new BareAnswerError(response, key, { cause })
  }
}

function refusal(error: unknown, response: Response, key: string | undefined) {
  const envelope = envelopeOf(error)
  return envelope ? new CommerceError(envelope, response, key) : new BareAnswerError(response, key)
}
