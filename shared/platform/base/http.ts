/** A request in the platform's form, independent of any gateway's format. */
export interface HttpRequest {
  method: string
  /** As the route table writes paths, with the values of its variables. */
  path: string
  params: Readonly<Record<string, string>>
  /** In the order sent, names and values decoded; a repeated name appears again. */
  query: readonly (readonly [name: string, value: string])[]
  /**
   * Names in lower case. The values of a repeated header are joined with a comma and a space, those of Cookie with a
   * semicolon and a space.
   */
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
  /** The gateway sends the length of the body that answers HEAD, but not the body. */
  body: string | undefined
}
