import { once } from 'node:events'
import { join } from 'node:path'
import { bundle } from '#bin/bundle.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { callsBy, type Tenant } from './commerce-api-calls.ts'
import { ask } from './http.ts'
import type { Measurement, Operation } from './load.ts'
import { firstMessage, pidsOf, start } from './processes.ts'
import type { Side } from './side.ts'

/** What the server is asked to carry out in its own process, without HTTP. */
export interface LoadAsked {
  operation: Operation
  requests: number
  clients: number
  database: number[]
  token: string
}

/**
 * This service, on a DynamoDB Local: called over HTTP as its peers are, and in its own process, as Lambda calls it.
 * Each is a process of its own, on a table of its own.
 */
export async function startCommerceApi(database: { endpoint: string; pids: number[] }): Promise<Side[]> {
  process.env.DYNAMODB_ENDPOINT = database.endpoint
  const file = await bundled()
  return [await startSide(file, database, false), await startSide(file, database, true)]
}

async function startSide(
  file: string,
  database: { endpoint: string; pids: number[] },
  inside: boolean,
): Promise<Side> {
  const { tableName, items } = await startService()
  const server = start(process.execPath, [file], {
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
  const calls = callsBy((tenant, path, { headers, ...rest } = {}) =>
    ask(`${url}${path}`, { ...rest, headers: { ...headers, Authorization: `Bearer ${tokens[tenant]}` } }),
  )
  const load = async (operation: Operation, requests: number, clients: number) => {
    const measured = once(server.child, 'message')
    const asked: LoadAsked = { operation, requests, clients, database: database.pids, token: tokens.acme }
    server.child.send(asked)
    const [told] = await measured
    return told as Measurement
  }
  return {
    name: inside ? 'this service, in-process' : 'this service',
    pids: { server: pidsOf(server), database: database.pids },
    ...calls,
    ...(inside && { load }),
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
