import { join } from 'node:path'
import { bundle } from '#bin/bundle.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { type Ask, ask, type Reply, succeeded } from './http.ts'
import { firstMessage, pidsOf, start } from './processes.ts'
import { offer, pageSize, type Row, type Side } from './side.ts'

type Tenant = 'acme' | 'contested'

/** This service, on a DynamoDB Local. */
export async function startCommerceApi(database: { endpoint: string; pids: number[] }): Promise<Side> {
  process.env.DYNAMODB_ENDPOINT = database.endpoint
  const { tableName, items } = await startService()
  const server = start(process.execPath, [await bundled()], {
    environment: {
      NODE_ENV: 'production',
      AWS_ENDPOINT_URL: database.endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      TABLE_NAME: tableName,
      SECRET_ARN: 'in the server itself',
    },
    messages: true,
  })
  const url = `http://127.0.0.1:${await firstMessage(server, 'this service')}`
  const tokens = { acme: await editorOf('acme'), contested: await editorOf('contested') }
  const send = (tenant: Tenant, path: string, { headers, ...rest }: Ask = {}) =>
    ask(`${url}${path}`, { ...rest, headers: { ...headers, Authorization: `Bearer ${tokens[tenant]}` } })
  const post = (tenant: Tenant, code: string) =>
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
    rows: async () => (await items('contested', 'code')).length,
  }
}

const editorOf = (tenant: Tenant) =>
  tokenFor({ tenant, role: 'Editor', sub: 'bench', scope: 'codes:read codes:write' })

/** @returns the server's file, built as the functions of AWS are */
async function bundled(): Promise<string> {
  const outdir = join(import.meta.dirname, '../../../.local/peers/commerce-api')
  const entries = { server: join(import.meta.dirname, 'commerce-api-server.ts') }
  await bundle({ entries, outdir, settings: JSON.stringify(localSettings) })
  return join(outdir, 'server/index.mjs')
}
