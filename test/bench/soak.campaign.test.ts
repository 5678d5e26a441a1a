import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { bundle } from '#bin/build/bundle.ts'
import { type FakeAws, startFakeAws } from '../support/fake-aws.ts'
import { localSettings, tokenFor } from '../support/settings.ts'
import type { Soak, Soaked } from './soak-process.ts'

let aws: FakeAws
let folder: string

beforeAll(async () => {
  aws = await startFakeAws(fakeTable())
  folder = await mkdtemp(join(tmpdir(), 'soak-'))
  const entries = { soak: join(import.meta.dirname, 'soak-process.ts') }
  await bundle({ entries, outdir: folder, settings: JSON.stringify(localSettings) })
})

afterAll(async () => {
  await aws.stop()
  await rm(folder, { recursive: true, force: true })
})

/** 10 MB, less a quarter: four of the sixteen requests of a turn are rejected early, so they show no leak of a client. */
const limitMegabytes = 7.5

test(`the heap grows by less than ${limitMegabytes} MB from 20,000 to 200,000 requests`, async () => {
  const { grownMegabytes, statuses } = await soak({ warmUp: 20_000, requests: 200_000, leaks: false })
  console.log(`the heap grew by ${grownMegabytes.toFixed(1)} MB`)
  expect(Object.keys(statuses)).toEqual(['200', '201', '400', '401', '403', '404', '409'])
  expect(grownMegabytes).toBeLessThan(limitMegabytes)
}, 5_400_000)

test('a leak of every event shows', async () => {
  const { grownMegabytes } = await soak({ warmUp: 800, requests: 4800, leaks: true })
  expect(grownMegabytes).toBeGreaterThan(limitMegabytes)
})

/** Runs requests in a new process. */
async function soak(asked: Omit<Soak, 'editors' | 'viewer'>): Promise<Soaked> {
  const scope = 'codes:read codes:write'
  const editors = Array.from({ length: 300 }, (_, index) => tokenFor({ sub: `u${index}`, scope }))
  const child = fork(join(folder, 'soak/index.mjs'), [], {
    execArgv: ['--expose-gc'],
    env: {
      AWS_ENDPOINT_URL: aws.endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      TABLE_NAME: 'soak',
      CURSORS_SECRET_ARN: 'secret',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    const viewer = await tokenFor({ role: 'Viewer', sub: 'viewer' })
    child.send({ ...asked, editors: await Promise.all(editors), viewer } satisfies Soak)
    const [soaked] = await Promise.race([once(child, 'message'), once(child, 'exit')])
    if (typeof soaked !== 'object') throw new Error(`the process ended with code ${soaked}`)
    return soaked as Soaked
  } finally {
    child.kill()
  }
}

/** A table that remembers the last idempotency records and holds every item that is asked for, except those with 404. */
function fakeTable(): Parameters<typeof startFakeAws>[0] {
  type Item = Record<string, { S?: string; N?: string; BOOL?: boolean }>
  const records = new Map<string, Item>()
  const at = '2026-01-31T12:00:00.000Z'
  const order = { tenant_id: 'acme', cart_id: 'cart-1', currency: 'EUR', status: 'active' }
  const code = { code: 'SALE', type: 'percent-10', name: 'Sale', created_by: 'u1', state: 'active' }
  const texts = { ...order, ...code, created_at: at, updated_at: at, expiry_at: at }
  const itemAt = (key: Item): Item => ({
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, { S: text }])),
    ...key,
    id: key.sk ?? {},
    amount_minor: { N: '1' },
    version: { N: '1' },
    soft_deleted: { BOOL: false },
  })
  return {
    'secretsmanager.GetSecretValue': () => ({
      SecretString: 'a secret of the soak, long enough for a key',
    }),
    'DynamoDB_20120810.GetItem': (input) => {
      const key = input.Key as Item
      return key.sk?.S?.endsWith('404') ? {} : { Item: itemAt(key) }
    },
    'DynamoDB_20120810.Query': ({ Limit, ExpressionAttributeValues: values }) => {
      const { ':partition': pk, ':high': sk } = values as Record<string, { S: string }>
      return { Items: pk && sk ? Array.from({ length: Number(Limit) }, () => itemAt({ pk, sk })) : [] }
    },
    'DynamoDB_20120810.PutItem': () => ({}),
    'DynamoDB_20120810.UpdateItem': () => ({}),
    'DynamoDB_20120810.TransactWriteItems': ({ TransactItems: items }) => {
      const [item] = (items as { Put: { Item: Item } }[]).map(({ Put }) => Put.Item)
      const name = item?.pk?.S ?? ''
      const existing = records.get(name)
      if (existing) {
        const reasons = [{ Code: 'ConditionalCheckFailed', Item: existing }]
        throw { __type: 'TransactionCanceledException', CancellationReasons: reasons }
      }
      if (item) records.set(name, item)
      if (records.size > 1000) records.delete(String(records.keys().next().value))
      return {}
    },
  }
}
