import { type Ask, type Reply, succeeded } from './http.ts'
import { offer, pageSize, type Row, type Side } from './side.ts'

export type Tenant = 'acme' | 'contested'

/** Returns the token of any caller. */
export function oneOf(tokens: readonly string[]): string {
  return tokens[Math.floor(Math.random() * tokens.length)] ?? ''
}

/** The calls of this service over any transport. */
export function callsBy(
  send: (tenant: Tenant, path: string, asked?: Ask) => Promise<Reply>,
): Pick<Side, 'create' | 'read' | 'list' | 'update' | 'contend'> {
  const post = (tenant: Tenant, code: string) =>
    send(tenant, '/codes', {
      method: 'POST',
      headers: { 'Idempotency-Key': crypto.randomUUID() },
      body: { code, type: `percent-${offer.percent}`, name: offer.name, expiry_at: offer.ends },
    })
  const rowOf = (reply: Reply): Row => ({ id: succeeded(reply).json.id, etag: reply.header('etag') })
  return {
    create: async (code) => rowOf(await post('acme', code)),
    read: async ({ id }) => succeeded(await send('acme', `/codes/${id}`)),
    list: async () => succeeded(await send('acme', `/codes?page_size=${pageSize}`)),
    update: async ({ id, etag }, turn) =>
      rowOf(
        await send('acme', `/codes/${id}`, {
          method: 'PATCH',
          headers: { 'If-Match': etag ?? '' },
          body: { name: `${offer.name} ${turn}` },
        }),
      ),
    // A separate tenant without other creates.
    contend: async (code) => {
      const { status, json } = await post('contested', code)
      return status === 201 ? '201' : `${status} ${json?.error?.code}`
    },
  }
}
