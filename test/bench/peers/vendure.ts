import { join } from 'node:path'
import { freePort } from '#test/support/free-port.ts'
import { ask, type Reply, succeeded } from './http.ts'
import type { Postgres } from './postgres.ts'
import { firstMessage, pidsOf, start } from './processes.ts'
import { offer, pageSize, type Row, type Side } from './side.ts'

/** Only the fields that this service returns for a code. */
const fields = 'id createdAt updatedAt couponCode name enabled endsAt'
const outcome = `__typename ...on Promotion { ${fields} } ...on ErrorResult { errorCode message }`
const queries = {
  login: 'mutation($password: String!) { login(username: "superadmin", password: $password) { __typename } }',
  create: `mutation($input: CreatePromotionInput!) { outcome: createPromotion(input: $input) { ${outcome} } }`,
  read: `query($id: ID!) { promotion(id: $id) { ${fields} } }`,
  list: `{ promotions(options: { take: ${pageSize} }) { items { ${fields} } } }`,
  update: `mutation($input: UpdatePromotionInput!) { outcome: updatePromotion(input: $input) { ${outcome} } }`,
}

/** Vendure's server with its own database, called through its Admin API as its superadmin. */
export async function startVendure(
  { port: databasePort, pids, sql }: Postgres,
  folder: string,
): Promise<Side> {
  await sql('postgres', 'create database vendure')
  const port = await freePort()
  const password = crypto.randomUUID()
  const server = start(process.execPath, [join(import.meta.dirname, 'vendure-server.ts')], {
    folder,
    environment: {
      NODE_ENV: 'production',
      VENDURE_FOLDER: folder,
      VENDURE_PORT: `${port}`,
      VENDURE_DATABASE_PORT: `${databasePort}`,
      VENDURE_PASSWORD: password,
    },
    messages: true,
  })
  await firstMessage(server, 'Vendure')

  let authorization = {}
  const query = (text: string, variables: object = {}) =>
    ask(`http://127.0.0.1:${port}/admin-api`, {
      method: 'POST',
      headers: authorization,
      body: { query: text, variables },
    })
  const login = succeeded(await query(queries.login, { password }))
  authorization = { Authorization: `Bearer ${login.header('vendure-auth-token')}` }

  const input = (couponCode: string) => ({
    enabled: true,
    couponCode,
    endsAt: offer.ends,
    conditions: [],
    actions: [
      { code: 'order_percentage_discount', arguments: [{ name: 'discount', value: `${offer.percent}` }] },
    ],
    translations: [{ languageCode: 'en', name: offer.name }],
  })
  return {
    name: 'Vendure',
    pids: { server: pidsOf(server), database: pids },
    create: async (code) => promotionOf(await query(queries.create, { input: input(code) })),
    read: async ({ id }) => dataOf(await query(queries.read, { id })),
    list: async () => dataOf(await query(queries.list)),
    update: async ({ id }, turn) =>
      promotionOf(await query(queries.update, { input: { id, usageLimit: 1 + turn } })),
    contend: async (code) => {
      const { status, json } = await query(queries.create, { input: input(code) })
      const { __typename: type, errorCode } = json?.data?.outcome ?? {}
      return `${status} ${errorCode ?? type ?? json?.errors?.[0]?.extensions?.code}`
    },
    rows: async (code) =>
      Number(await sql('vendure', `select count(*) from promotion where "couponCode" = '${code}'`)),
  }
}

/** GraphQL returns errors with status 200. */
function dataOf(reply: Reply) {
  const { data, errors } = succeeded(reply).json
  if (errors || !data) throw new Error(`answered ${JSON.stringify(errors)}`)
  return data
}

function promotionOf(reply: Reply): Row {
  const { outcome } = dataOf(reply)
  if (outcome.__typename !== 'Promotion') throw new Error(`answered ${JSON.stringify(outcome)}`)
  return { id: outcome.id }
}
