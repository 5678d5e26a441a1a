import { beforeAll, describe, expect, test } from '@jest/globals'
import { asCode, codeEtag } from '#shared/codes/code-store.ts'
import { someOf } from '#test/support/runs.ts'
import type { Answer, Call } from '#test/support/service.ts'
import { localSettings, shortTimeoutSettings } from '#test/support/settings.ts'
import type { Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const expiry = '2099-01-01T00:00:00.000Z'
const anyCall = ['lose-answer', 'lose-request', 'throttle', 'internal', 'unavailable'] as const
const transactions = ['conflict', 'conflict-and-refusal', 'in-progress'] as const
/** Representative of the other faults for long outages. */
const lasting = ['lose-answer', 'lose-request', 'throttle', 'in-progress'] as const
/** The fault, its count, and the resulting budget of the request. */
const faults: [string, Fault | 'late', number, string?][] = [
  ...[...anyCall, ...transactions].map((fault): [string, Fault, number] => [`${fault} once`, fault, 1]),
  ...lasting.map((fault): [string, Fault, number] => [`${fault} forever`, fault, Number.POSITIVE_INFINITY]),
  ['an effect after the retry', 'late', 1, '400'],
  ['an answer that never comes', 'no-answer', 1, '400'],
  ['a request that never arrives', 'no-arrival', 1, '400'],
]

let tenants = 0
const service = await useFaultyService({
  settings: {
    ...shortTimeoutSettings,
    'idempotency.whilePending': { waitSeconds: 0.2, status: 409 as const },
  },
})

const call = (tenant: string, key: string, one: Call) =>
  service.call({
    as: { tenant, role: 'Editor', scope: 'codes:read codes:write' },
    ...one,
    headers: { 'Idempotency-Key': key, ...one.headers },
  })

/** An operation on a tenant, the expected results of its rows, and the expected items. */
interface Operation {
  call(tenant: string): Promise<Call>
  rows: (number | [number, string])[]
  codes: [code: string, name: string, version: number][]
  audit: string[]
}

const row = (code: string, name: string) => `${code},percent-10,${name},${expiry}\n`
const importing: Call = {
  method: 'POST',
  path: '/codes:import',
  headers: { 'Content-Type': 'text/csv' },
  body: `code,type,name,expiry_at\n${row('A', 'Before')}${row('B', '')}${row('B', 'Before')}${row('A', 'Again')}`,
}

const operations: Record<string, Operation> = {
  import: {
    call: async () => importing,
    rows: [201, [400, 'VALIDATION.field.length'], 201, [409, 'CONFLICT.code.exists']],
    codes: [
      ['A', 'Before', 1],
      ['B', 'Before', 1],
    ],
    audit: ['import'],
  },
  'bulk update': {
    async call(tenant) {
      await call(tenant, 'made', importing)
      const made = (await service.items(tenant, 'code')).map(asCode)
      const [a, b] = made
        .toSorted((one, other) => (one.code < other.code ? -1 : 1))
        .map((code) => ({ id: code.id, if_match: codeEtag(code, localSettings) }))
      const items = [
        { ...a, name: 'After' },
        { ...b, code: 'C' },
        { ...b, name: 'After' },
        { ...a, name: 'Again' },
      ]
      return { method: 'POST', path: '/codes:bulkUpdate', body: { items } }
    },
    rows: [200, [403, 'AUTHZ.field.denied'], 200, [412, 'CONFLICT.etag.mismatch']],
    codes: [
      ['A', 'After', 2],
      ['B', 'After', 2],
    ],
    audit: ['import', 'update', 'update'],
  },
}

const results = ({ json }: Answer) =>
  json.items.map(({ status, error }: { status: number; error?: { code: string } }) =>
    error ? [status, error.code] : status,
  )

async function expectState(tenant: string, { codes, audit }: Operation) {
  const stored = await service.items(tenant, 'code')
  expect(stored.map(({ code, name, version }) => [code, name, version]).sort()).toEqual(codes)
  const locks = await service.items(tenant, 'code_lock')
  expect(locks.map(({ sk, code_id }) => `${sk} ${code_id}`)).toEqual(
    stored.map(({ code, id }) => `${code} ${id}`).sort(),
  )
  const allowed = (await service.items(tenant, 'audit')).filter(({ result }) => result === 'allow')
  expect(allowed.map(({ action }) => action)).toEqual(audit)
}

/** The number of requests to the table without faults. */
async function callsOf(operation: Operation): Promise<number> {
  const tenant = `undisturbed-${tenants++}`
  const prepared = await operation.call(tenant)
  service.faults.reset()
  expect(results(await call(tenant, 'key', prepared))).toEqual(operation.rows)
  const calls = service.faults.calls.length
  await expectState(tenant, operation)
  return calls
}

const possible = (fault: Fault | 'late', operation: string) =>
  operation === 'TransactWriteItems' || !transactions.some((one) => one === fault)

/** Retries like a client. While the request is in progress, it waits for the lease of the dead process. */
async function retried(tenant: string, prepared: Call): Promise<Answer> {
  const answer = await call(tenant, 'key', prepared)
  if (answer.json.error?.code !== 'CONFLICT.idempotency.in_progress') return answer
  service.clock.advance(31_000)
  return call(tenant, 'key', prepared)
}

describe.each(Object.entries(operations))('%s of codes', (_, operation) => {
  let calls: number
  beforeAll(async () => {
    calls = await callsOf(operation)
  })

  test.each(faults.map((scenario, row) => ({ scenario, row, name: scenario[0] })))(
    'under $name on any of its calls succeeds or fails as retryable, and each row is executed once',
    async ({ scenario, row: turn }) => {
      const [, fault, times, milliseconds] = scenario
      for (const at of someOf([...Array(calls).keys()], turn)) {
        const tenant = `faulty-${tenants++}`
        const prepared = await operation.call(tenant)
        service.faults.reset()
        const late = Promise.withResolvers<void>()
        const injection = service.faults.inject({
          when: ({ index, operation: of }) => index >= at && possible(fault, of),
          times,
          fault: fault === 'late' ? { until: late.promise } : fault,
        })
        const limited = { 'X-Request-Timeout': milliseconds ?? '10000', ...prepared.headers }
        const answer = await call(tenant, 'key', { ...prepared, headers: limited })
        if (answer.status !== 207) expectRetryable(answer)
        if (milliseconds === undefined) expect(answer.status === 207).toBe(times === 1)
        service.endFaults(fault)

        const retry = await retried(tenant, prepared)
        late.resolve()
        if (injection.hits > 0) await injection.injected
        const replay = await call(tenant, 'key', prepared)
        expect(results(retry)).toEqual(operation.rows)
        expect(replay.body).toBe(retry.body)
        if (answer.status === 207) expect(retry.body).toBe(answer.body)
        expect(replay.headers['Idempotency-Status']).toBe('replayed')
        await expectState(tenant, operation)
      }
    },
  )
})
