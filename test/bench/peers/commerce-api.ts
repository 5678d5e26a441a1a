import { once } from 'node:events'
import { join } from 'node:path'
import type { Ready } from './commerce-api-server.ts'
import { type Ask, ask, type Reply, succeeded } from './http.ts'
import { firstMessage, pidsOf, start } from './processes.ts'
import { offer, pageSize, type Row, type Side } from './side.ts'

/** This service, on a DynamoDB Local. */
export async function startCommerceApi(database: { endpoint: string; pids: number[] }): Promise<Side> {
  const server = start(process.execPath, [join(import.meta.dirname, 'commerce-api-server.ts')], {
    environment: { NODE_ENV: 'production', DYNAMODB_ENDPOINT: database.endpoint, AWS_REGION: 'us-east-1' },
    messages: true,
  })
  const { url, tokens } = (await firstMessage(server, 'this service')) as Ready
  const send = (tenant: keyof Ready['tokens'], path: string, { headers, ...rest }: Ask = {}) =>
    ask(`${url}${path}`, { ...rest, headers: { ...headers, Authorization: `Bearer ${tokens[tenant]}` } })
  const post = (tenant: keyof Ready['tokens'], code: string) =>
    send(tenant, '/codes', {
      method: 'POST',
      headers: { 'Idempotency-Key': crypto.randomUUID() },
      body: { code, type: `percent-${offer.percent}`, name: offer.name, expiry_at: offer.ends },
    })
  const rowOf = (reply: Reply): Row => ({ id: succeeded(reply).json.id, etag: reply.header('etag') })
  return {
    name: 'this service',
    pids: { server: pidsOf(server), database: database.pids },
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
    // A tenant of its own, in which nobody creates anything else.
    contend: async (code) => {
      const { status, json } = await post('contested', code)
      return status === 201 ? '201' : `${status} ${json?.error?.code}`
    },
    rows: async () => {
      const counted = once(server.child, 'message')
      server.child.send('contested')
      const [codes] = (await counted) as [number]
      return codes
    },
  }
}
