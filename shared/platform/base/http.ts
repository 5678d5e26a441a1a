/** A request in the platform's form, independent of any gateway's format. */
export interface HttpRequest {
  method: string
  path: string
  params: Readonly<Record<string, string>>
  /** In the order sent, names and values decoded; a repeated name appears again. */
  query: readonly (readonly [name: string, value: string])[]
  /** Names in lower case; the values of a repeated header are joined with commas, those of Cookie with semicolons. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array | undefined
  /** The peer address that the gateway saw; never one that a header claims. */
  sourceAddress: string
}

export interface HttpResponse {
  status: number
  headers: Record<string, string>
  /** Values of Set-Cookie, sent as separate headers. */
  cookies?: readonly string[]
  body: string | undefined
}
