import { once } from 'node:events'
import { join } from 'node:path'
import { bundle } from '#bin/build/bundle.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { callsBy, oneOf, type Tenant } from './commerce-api-calls.ts'
import { ask } from './http.ts'
import type { Measurement, Operation } from './load.ts'
import { firstMessage, pidsOf, start } from './processes.ts'
import type { Side } from './side.ts'

/** A task for the server to execute in its own process, without HTTP. */
export interface LoadAsked {
  operation: Operation
  requests: number
  clients: number
  database: number[]
  tokens: string[]
}

/**
 * This service on DynamoDB Local: called over HTTP like its peers, and in its own process, like Lambda. Each has a
 * separate process and table.
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
      CURSORS_SECRET_ARN: 'in the server itself',
    },
    messages: true,
  })
  const url = `http://127.0.0.1:${await firstMessage(server, 'this service')}`
  const tokens = { acme: await editorsOf('acme'), contested: await editorsOf('contested') }
  const calls = callsBy((tenant, path, { headers, ...rest } = {}) =>
    ask(`${url}${path}`, {
      ...rest,
      headers: { ...headers, Authorization: `Bearer ${oneOf(tokens[tenant])}` },
    }),
  )
  const load = async (operation: Operation, requests: number, clients: number) => {
    const measured = once(server.child, 'message')
    const asked: LoadAsked = { operation, requests, clients, database: database.pids, tokens: tokens.acme }
    server.child.send(asked)
    const [measurement] = await measured
    return measurement as Measurement
  }
  return {
    name: inside ? 'this service, in-process' : 'this service',
    pids: { server: pidsOf(server), database: database.pids },
    ...calls,
    ...(inside && { load }),
    rows: async () => (await items('contested', 'code')).length,
  }
}

/** The callers of a tenant: more than a process meets twice in a row, so most requests verify a token that it has forgotten or not seen. */
const callers = 2000

const editorsOf = (tenant: Tenant) =>
  Promise.all(
    Array.from({ length: callers }, (_, n) =>
      tokenFor({ tenant, role: 'Editor', sub: `bench-${n}`, scope: 'codes:read codes:write' }),
    ),
  )

/** @returns the server's file, built like the functions on AWS */
async function bundled(): Promise<string> {
  const outdir = join(import.meta.dirname, '../../../.local/peers/commerce-api')
  const entries = { server: join(import.meta.dirname, 'commerce-api-server.ts') }
  await bundle({ entries, outdir, settings: JSON.stringify(localSettings) })
  return join(outdir, 'server/index.mjs')
}
