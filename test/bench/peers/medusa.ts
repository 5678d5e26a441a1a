import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '#test/support/free-port.ts'
import { type Ask, ask, type Reply, succeeded } from './http.ts'
import { type Postgres, superuser } from './postgres.ts'
import { pidsOf, run, start, untilAnswered } from './processes.ts'
import { offer, pageSize, type Row, type Side } from './side.ts'

/** Only the fields that this service returns for a code. */
const fields = 'fields=id,code,type,status,created_at,updated_at'
const email = 'bench@example.com'

/**
 * Medusa's defaults without the dashboard and with a larger pool: an update holds one connection while it requests
 * another, so sixteen concurrent ones exhaust the default of ten and deadlock until they time out.
 */
const config = `const { defineConfig } = require('@medusajs/framework/utils')
module.exports = defineConfig({
  projectConfig: { databaseUrl: process.env.DATABASE_URL, databaseDriverOptions: { ssl: false, pool: { max: 40 } } },
  admin: { disable: true },
})
`

/** Medusa's server with its own database, called through its Admin API. */
export async function startMedusa(
  { port: databasePort, pids, sql }: Postgres,
  folder: string,
): Promise<Side> {
  await sql('postgres', 'create database medusa')
  await writeFile(join(folder, 'medusa-config.js'), config)
  const port = await freePort()
  const password = crypto.randomUUID()
  const environment = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'error',
    MEDUSA_DISABLE_TELEMETRY: 'true',
    // Its command line stores settings in the user's home.
    XDG_CONFIG_HOME: join(folder, '.config'),
    DATABASE_URL: `postgres://${superuser}@127.0.0.1:${databasePort}/medusa?sslmode=disable`,
    JWT_SECRET: crypto.randomUUID(),
    COOKIE_SECRET: crypto.randomUUID(),
  }
  const command = (...args: string[]) => [join(folder, 'node_modules/@medusajs/cli/cli.js'), ...args]
  await run(process.execPath, command('db:migrate'), { folder, environment })
  await run(process.execPath, command('user', '-e', email, '-p', password), { folder, environment })
  const server = start(process.execPath, command('start', '--host', '127.0.0.1', '--port', `${port}`), {
    folder,
    environment,
  })
  const url = `http://127.0.0.1:${port}`
  await untilAnswered(`${url}/health`, server)

  const login = await ask(`${url}/auth/user/emailpass`, { method: 'POST', body: { email, password } })
  const headers = { Authorization: `Bearer ${succeeded(login).json.token}` }
  const send = (path: string, rest: Ask = {}) => ask(`${url}/admin/promotions${path}`, { ...rest, headers })
  const post = (code: string) =>
    send(`?${fields}`, {
      method: 'POST',
      body: {
        code,
        type: 'standard',
        status: 'active',
        application_method: { type: 'percentage', target_type: 'order', value: offer.percent },
      },
    })
  const rowOf = (reply: Reply): Row => ({ id: succeeded(reply).json.promotion.id })
  return {
    name: 'Medusa',
    pids: { server: pidsOf(server), database: pids },
    create: async (code) => rowOf(await post(code)),
    read: async ({ id }) => succeeded(await send(`/${id}?${fields}`)),
    list: async () => succeeded(await send(`?limit=${pageSize}&${fields}`)),
    update: async ({ id }, turn) =>
      rowOf(await send(`/${id}?${fields}`, { method: 'POST', body: { limit: 1 + turn } })),
    contend: async (code) => {
      const { status, json } = await post(code)
      return status === 200 ? '200' : `${status} ${json?.type}`
    },
    rows: async (code) =>
      Number(
        await sql('medusa', `select count(*) from promotion where code = '${code}' and deleted_at is null`),
      ),
  }
}
