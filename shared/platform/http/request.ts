/** A request as the platform sees it, free of any gateway's format. */
export interface HttpRequest {
  method: string
  path: string
  params: Readonly<Record<string, string>>
  /** In the order sent, names and values decoded; a repeated name stands twice. */
  query: readonly (readonly [name: string, value: string])[]
  /** Names in lower case; of a repeated header the values are joined with a comma. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array | undefined
  /** The address that the gateway was called from, as the gateway saw it; never what a header claims. */
  sourceAddress: string
}

export interface HttpResponse {
  status: number
  headers: Record<string, string>
  body: string | undefined
}
