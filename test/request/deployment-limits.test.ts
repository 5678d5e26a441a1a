import { beforeEach, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { defineEndpoint, type Endpoint, ok } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

/** The limits of a deployment, its setting limits.other, on endpoints of this test. */
type Limit = Settings['limits.other'][string][number]

const counted = defineRoute({
  operation: 'tests.counted',
  method: 'POST',
  path: '/tests/counted',
  summary: 'Be counted',
  description: 'An operation of this test.',
  auth: 'bearer',
  access: 'create',
  idempotency: 'accepted',
  body: () => v.strictObject({ fault: v.optional(v.picklist(['caller', 'busy', 'bug'])) }),
  reply: { status: () => 200, schema: () => v.strictObject({}) },
  errors: ['CONFLICT.soft_deleted'],
  uses: ['secret.hashes'],
  impact: 'Nothing.',
})
const other = { ...counted, operation: 'tests.other', path: '/tests/other' }
const faults = {
  caller: fail('CONFLICT.soft_deleted'),
  busy: fail('DEPENDENCY.unavailable'),
  bug: new TypeError('a mistake in the code'),
}
const endpoints = [counted, other].map((route) =>
  defineEndpoint(route, {
    decide({ body: { fault } }) {
      if (fault) throw faults[fault]
      return ok({})
    },
  }),
)

let now: number
let jitter: number
/** The calls of the table. */
let calls: string[]
/** Runs before each call of the table. */
let beforeCall: (name: string) => Promise<void> | undefined
beforeEach(() => {
  now = Date.parse('2026-03-01T12:00:00Z')
  jitter = 0
  calls = []
  beforeCall = () => undefined
})

const limit = (limit: number, changes: Partial<Limit> = {}): Limit => {
  return { limit, windowSeconds: 60, per: 'principal', counts: 'requests', ...changes }
}

/** Starts a service whose endpoints have these limits each, on a table in memory. */
const serve = (...limits: Limit[]) => serveOnly(endpoints, limits)

async function serveOnly(only: Endpoint[], limits: Limit[]) {
  const settings = profile('shared/settings/profiles/local.json', {
    'limits.other': limits.length > 0 ? { 'tests.counted': limits, 'tests.other': limits } : {},
  })
  const service = await startService({
    settings,
    clock: { ...systemClock, now: () => now, jitter: () => jitter },
    only,
    transit: async ({ name, effect }) => {
      calls.push(name)
      await beforeCall(name)
      return effect()
    },
  })
  return (fault?: keyof typeof faults, changes: Parameters<Service['call']>[0] | object = {}) =>
    service.call({
      method: 'POST',
      path: '/tests/counted',
      as: { tenant: 'acme', role: 'Editor', sub: 'u1' },
      body: { fault },
      failsInternally: fault === 'bug',
      ...changes,
    })
}

/** Calls until the limit is reached. @returns the number of calls before, at most 2000 */
async function admitted(call: () => Promise<Answer>): Promise<number> {
  for (let count = 0; count < 2000; count += 1) if ((await call()).status === 429) return count
  return 2000
}

test('an operation without a limit makes one call of the table for a request with a key', async () => {
  const call = await serve()
  await call(undefined, { headers: { 'Idempotency-Key': 'k' } })
  expect(calls).toEqual(['transact'])
})

test('concurrent requests with one key count as one', async () => {
  const call = await serve(limit(5))
  const allCounted = Promise.withResolvers<void>()
  beforeCall = (name) => {
    if (calls.filter((one) => one === 'update').length === 3) allCounted.resolve()
    return name === 'transact' ? allCounted.promise : undefined
  }
  const keyed = { headers: { 'Idempotency-Key': 'k' } }
  const answers = await Promise.all([1, 2, 3].map(() => call(undefined, keyed)))
  const statuses = answers.map(({ headers }) => headers['Idempotency-Status'])
  expect(statuses.toSorted()).toEqual(['replayed', 'replayed', 'stored'])
  expect(await admitted(call)).toBe(4)
})

describe('a rejection', () => {
  test.each<[string, Limit]>([
    ['requests', limit(2)],
    ['failures', limit(2, { counts: 'failures', windowSeconds: 600 })],
    ['a tenant, whatever the number of its windows', limit(1050, { per: 'tenant' })],
  ])('of a known caller names the limit of %s', async (_, configured) => {
    const call = await serve(configured)
    await admitted(() => call('caller'))
    const { json } = await call('caller')
    const { counts: reason, per, limit: max, windowSeconds: window_seconds } = configured
    expect(json.error.details).toEqual({ reason, per, max, window_seconds })
  })

  test('of an anonymous caller names no limit', async () => {
    const { access: _, ...open } = { ...counted, auth: 'none' as const }
    const only = [defineEndpoint(open, { decide: () => ok({}) })]
    const call = await serveOnly(only, [limit(2, { per: 'source' })])
    await admitted(call)
    expect((await call()).json.error).toMatchObject({ code: 'RATE_LIMIT.exceeded', details: {} })
    expect((await call()).json.error.details).toEqual({})
  })
})

test('each operation has its own windows', async () => {
  const call = await serve(limit(2))
  await admitted(call)
  expect(await admitted(() => call(undefined, { path: '/tests/other' }))).toBe(2)
})

describe('two limits of one kind', () => {
  test('may have a short and a long window', async () => {
    const call = await serve(limit(3), limit(4, { windowSeconds: 600 }))
    expect(await admitted(call)).toBe(3)
    now += 60_000
    expect(await admitted(call)).toBe(1)
  })

  test('may count requests and failures', async () => {
    const call = await serve(limit(4), limit(2, { counts: 'failures' }))
    expect(await admitted(call)).toBe(4)
    now += 60_000
    expect(await admitted(() => call('caller'))).toBe(2)
  })
})

describe('a limit of failures', () => {
  const failures = limit(2, { counts: 'failures' })

  test('counts those of the caller', async () => {
    const call = await serve(failures)
    expect(await admitted(() => call('caller'))).toBe(2)
  })

  test.each(['busy', 'bug'] as const)('counts no failure of the service (%s)', async (fault) => {
    const call = await serve(failures)
    for (let n = 0; n < 3; n += 1) await call(fault)
    expect(await admitted(() => call('caller'))).toBe(2)
  })
})

describe('a limit of a tenant above 1,000 requests', () => {
  test('is divided among windows that are chosen at random', async () => {
    const call = await serve(limit(1050, { per: 'tenant' }))
    jitter = 0.49
    expect(await admitted(call)).toBe(525)
    jitter = 0.5
    expect(await admitted(call)).toBe(525)
  })
})
