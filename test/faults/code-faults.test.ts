import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { someOf } from '#test/support/runs.ts'
import type { Answer, Call } from '#test/support/service.ts'
import type { Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const fields = { code: 'A', type: 'percent-10', name: 'Before', expiry_at: '2099-01-01T00:00:00.000Z' }
const forever = Number.POSITIVE_INFINITY
const anyCall = ['lose-answer', 'lose-request', 'throttle', 'internal', 'unavailable'] as const
const transactions = ['conflict', 'conflict-and-refusal', 'in-progress'] as const
/** The fault, its count, and the resulting budget of the request. */
const service = await useFaultyService()
const faults: [string, Fault | 'late', number, string?][] = [
  ...[...anyCall, ...transactions].flatMap((fault): [string, Fault, number][] => [
    [`${fault} once`, fault, 1],
    [`${fault} forever`, fault, forever],
  ]),
  ['a short delay', { first: () => service.clock.advance(30) }, forever],
  ['an effect after the retry', 'late', 1, '400'],
  ['an answer that never comes', 'no-answer', 1, '400'],
  ['a request that never arrives', 'no-arrival', 1, '400'],
]

let tenants = 0

const as = (tenant: string) => ({ tenant, role: 'Admin', scope: 'codes:read codes:write' })
const call = (tenant: string, key: string, one: Call) =>
  service.call({ as: as(tenant), ...one, headers: { 'Idempotency-Key': key, ...one.headers } })
const create = (tenant: string) => call(tenant, 'made', { method: 'POST', path: '/codes', body: fields })

/** An operation on the only code of a tenant, and the expected result. */
interface Operation {
  call(tenant: string): Promise<Call>
  status: number
  /** The name, state and version of the code; absent if it is deleted. */
  code?: [name: string, state: string, version: number]
  audit: string[]
}

const operations: Record<string, Operation> = {
  create: {
    call: async () => ({ method: 'POST', path: '/codes', body: fields }),
    status: 201,
    code: ['Before', 'active', 1],
    audit: [],
  },
  update: {
    async call(tenant) {
      const { json, headers } = await create(tenant)
      const change = { headers: { 'If-Match': headers.ETag ?? '' }, body: { name: 'After' } }
      return { method: 'PATCH', path: `/codes/${json.id}`, ...change }
    },
    status: 200,
    code: ['After', 'active', 2],
    audit: ['update'],
  },
  'soft delete': {
    call: async (tenant) => ({ method: 'DELETE', path: `/codes/${(await create(tenant)).json.id}` }),
    status: 204,
    code: ['Before', 'soft_deleted', 2],
    audit: ['soft_delete'],
  },
  restore: {
    async call(tenant) {
      const path = `/codes/${(await create(tenant)).json.id}`
      await call(tenant, 'deleted', { method: 'DELETE', path })
      return { method: 'POST', path: `${path}:restore`, body: {} }
    },
    status: 200,
    code: ['Before', 'active', 3],
    audit: ['soft_delete', 'restore'],
  },
  'hard delete': {
    async call(tenant) {
      const headers = { 'X-Audit-Log-Reason': 'made by mistake' }
      return { method: 'DELETE', path: `/codes/${(await create(tenant)).json.id}?force=true`, headers }
    },
    status: 204,
    audit: ['hard_delete'],
  },
  share: {
    async call(tenant) {
      const body = { grantee_tenant: 'friend' }
      return { method: 'POST', path: `/codes/${(await create(tenant)).json.id}:share`, body }
    },
    status: 200,
    code: ['Before', 'active', 1],
    audit: ['share'],
  },
}

async function expectState(tenant: string, { code, audit }: Operation) {
  const codes = await service.items(tenant, 'code')
  expect(codes.map(({ name, state, version }) => [name, state, version])).toEqual(code ? [code] : [])
  const locks = await service.items(tenant, 'code_lock')
  expect(locks.map(({ sk, code_id }) => [sk, code_id])).toEqual(codes.map(({ id }) => ['A', id]))
  const records = await service.items(tenant, 'audit')
  expect(records.map(({ action, result }) => [action, result])).toEqual(audit.map((one) => [one, 'allow']))
}

/** The requests to the table without faults. */
async function callsOf(operation: Operation): Promise<string[]> {
  const tenant = `undisturbed-${tenants++}`
  const prepared = await operation.call(tenant)
  service.faults.reset()
  expect((await call(tenant, 'key', prepared)).status).toBe(operation.status)
  const calls = service.faults.calls.map((one) => one.operation)
  await expectState(tenant, operation)
  return calls
}

const possible = (fault: Fault | 'late', operation: string) =>
  operation === 'TransactWriteItems' || !transactions.some((one) => one === fault)
const seen = ({ status, body, headers }: Answer) => [status, body, headers.ETag]

describe.each(Object.entries(operations))('%s of a code', (_, operation) => {
  let calls: string[]
  beforeAll(async () => {
    calls = await callsOf(operation)
  })

  test.each(faults.map((scenario, row) => ({ scenario, row, name: scenario[0] })))(
    'under $name on any of its calls succeeds or fails as retryable, and its key has one effect',
    async ({ scenario, row }) => {
      const [, fault, times, milliseconds] = scenario
      const struckCalls = [...calls.entries()].filter(([, of]) => possible(fault, of))
      for (const [at] of someOf(struckCalls, row)) {
        const tenant = `faulty-${tenants++}`
        const prepared = await operation.call(tenant)
        service.faults.reset()
        const late = Promise.withResolvers<void>()
        const injection = service.inject(fault === 'late' ? { until: late.promise } : fault, at, times)
        const limited = { 'X-Request-Timeout': milliseconds ?? '10000', ...prepared.headers }
        const answer = await call(tenant, 'key', { ...prepared, headers: limited })
        if (answer.status !== operation.status) expectRetryable(answer)
        const passes = times === 1 || typeof fault === 'object'
        if (milliseconds === undefined) expect(answer.status === operation.status).toBe(passes)
        service.endFaults(fault)

        const retry = await call(tenant, 'key', prepared)
        late.resolve()
        if (injection.hits > 0) await injection.injected
        const replay = await call(tenant, 'key', prepared)
        expect(retry.status).toBe(operation.status)
        expect(seen(replay)).toEqual(seen(retry))
        if (answer.status === operation.status) expect(seen(retry)).toEqual(seen(answer))
        expect(replay.headers['Idempotency-Status']).toBe('replayed')
        await expectState(tenant, operation)
      }
    },
  )

  test('eight concurrent requests with one key under random faults have one effect and one response', async () => {
    const sometimes = fc.option(
      fc.constantFrom<Fault>('throttle', 'lose-answer', 'lose-request', ...transactions),
    )
    const check = async (schedule: (Fault | null)[]) => {
      const tenant = `crowd-${tenants++}`
      const prepared = await operation.call(tenant)
      service.faults.reset()
      schedule.forEach((fault, at) => {
        if (!fault) return
        service.faults.inject({ when: (one) => one.index === at && possible(fault, one.operation), fault })
      })
      const answers = await Promise.all(Array.from({ length: 8 }, () => call(tenant, 'key', prepared)))
      service.endFaults('throttle')
      const last = await call(tenant, 'key', prepared)
      expect(last).toMatchObject({ status: operation.status, headers: { 'Idempotency-Status': 'replayed' } })
      for (const answer of answers) {
        if (answer.status === operation.status) expect(seen(answer)).toEqual(seen(last))
        else expectRetryable(answer)
      }
      await expectState(tenant, operation)
    }
    const schedules = fc.array(sometimes, { minLength: 10, maxLength: 40 })
    await fc.assert(fc.asyncProperty(schedules, check), { numRuns: 5, seed: 20_260_303 })
  })
})
