import { expect, test } from '@jest/globals'
import * as v from 'valibot'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create } from '#shared/platform/table/table.ts'
import { declaredRuntime, declaredTable } from './declared-table.ts'
import { memoryRuntime } from './memory-runtime.ts'
import { startService } from './service.ts'

const route = defineRoute({
  operation: 'tests.grab',
  method: 'POST',
  path: '/tests/grab',
  summary: 'Grab',
  description: 'Writes an item that it does not declare.',
  auth: 'none',
  idempotency: 'none',
  body: () => v.strictObject({ entity: v.picklist(['order', 'session']) }),
  reply: { status: () => 201, schema: () => v.strictObject({ id: v.string() }) },
  errors: [],
  uses: [],
  table: { put: ['order'] },
  impact: 'Nothing.',
})
const grab = defineEndpoint(route, {
  decide({ body: { entity } }, { newId }) {
    const id = newId()
    return created({ id }, { writes: [create({ ...keyOf('acme', entity, id), id })] })
  },
})

test('an operation may write the items that it declares, and the test of any other write says what to add', async () => {
  const service = await startService({ only: [grab] })
  const call = (entity: string) => service.call({ method: 'POST', path: '/tests/grab', body: { entity } })
  expect((await call('order')).status).toBe(201)
  await expect(call('session')).rejects.toThrow(
    "tests.grab may not put items of the kind session in the table. If it has to, add 'session' to `table.put` in its route.",
  )
})

test('a function without a route may access only the items that it declares', async () => {
  const { table } = memoryRuntime()
  const key = keyOf('acme', 'session', 'x')
  await expect(declaredTable('imports.rows', table).get(key)).rejects.toThrow(
    "add 'session' to `table.get` in functions/steps.ts",
  )
  await expect(declaredTable('login.send-reset', table).get(key)).rejects.toThrow(
    "add 'session' to `table.get` in functions/subscriptions.ts",
  )
})

test('every call of the table is checked', async () => {
  const { openTable } = declaredRuntime('address.probe', memoryRuntime())
  const table = openTable(startBudget(systemClock, 1000))
  const key = keyOf('acme', 'order', 'x')
  const range = { partition: key.pk, low: 'a', high: 'b', limit: 1 }
  const item = { ...key }
  const put = { item, condition: 'none' } as const
  const calls = {
    get: () => table.get(key),
    getMany: () => table.getMany([key]),
    query: () => table.readRange({ ...range, descending: false }),
    find: () => table.findById('order', 'x'),
    put: () => table.put(put),
    'put in a transaction': () => table.transact([put]),
    update: () => table.update({ update: key, set: {}, condition: 'none' }),
    delete: () => table.transact([{ remove: key, condition: 'none' }]),
    check: () => table.transact([{ check: key, condition: { matches: {} } }]),
    insert: () => table.insertMany([item]),
  }
  for (const [name, call] of Object.entries(calls))
    await expect(call()).rejects.toThrow(`may not ${name.split(' ')[0]} items of the kind order`)
})
