import type { FetchOptions, FetchResponse } from 'openapi-fetch'
import type { paths } from './schema.ts'

/** The operations that take a bearer token. Webhook senders sign their requests and do not use this client. */
export type Paths = Omit<paths, '/v1/webhooks/events' | '/v1/webhooks/stripe'>
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
export type PathWith<M extends Method> = {
  [P in keyof Paths]: Paths[P] extends Record<M, { responses: unknown }> ? P : never
}[keyof Paths]

type Header = 'Idempotency-Key'
/** Makes the Idempotency-Key optional: the client generates a missing one. */
type Keyless<Parameters> = Parameters extends { header: infer Headers }
  ? Omit<Parameters, 'header'> & OptionalHeader<Omit<Headers, Header> & { 'Idempotency-Key'?: string }>
  : Parameters
type OptionalHeader<Headers> = object extends Headers ? { header?: Headers } : { header: Headers }

export type Operation<P extends keyof Paths, M extends Method> = M extends keyof Paths[P]
  ? Paths[P][M] extends { parameters: infer Parameters }
    ? Omit<Paths[P][M], 'parameters'> & { parameters: Keyless<Parameters> }
    : never
  : never

/** The parameters, body, headers and signal of a call. */
export type Options<P extends keyof Paths, M extends Method> = FetchOptions<Operation<P, M>>

type Success<P extends keyof Paths, M extends Method, O> =
  Operation<P, M> extends infer Known extends Record<string, unknown>
    ? Extract<FetchResponse<Known, O, `${string}/${string}`>, { error?: never }>['data']
    : never

/** The type of `data`. It can be undefined (304) only for callers that sent If-None-Match. */
export type Data<P extends keyof Paths, M extends Method, O> =
  | Success<P, M, O>
  | (O extends { params: { header: { 'If-None-Match': string } } } ? undefined : never)

/** The paths that return pages. */
export type ListPath = {
  [P in PathWith<'get'>]: Success<P, 'get', object> extends { next_cursor: string | null } ? P : never
}[PathWith<'get'>]

export type Page<P extends ListPath> = Success<P, 'get', object>
export type Item<P extends ListPath> = Page<P> extends { data: (infer One)[] } ? One : never
export type Query<P extends ListPath> = Omit<
  NonNullable<Operation<P, 'get'>['parameters'] extends { query?: infer Known } ? Known : never>,
  'cursor'
>
