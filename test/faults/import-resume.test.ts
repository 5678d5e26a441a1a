import { beforeEach, describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { someOf } from '#test/support/runs.ts'
import type { Answer } from '#test/support/service.ts'
import { shortTimeoutSettings } from '#test/support/settings.ts'
import type { Call } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const expiry = '2099-01-01T00:00:00.000Z'
const scope = 'codes:read codes:write'
const count = 40
const forever = Number.POSITIVE_INFINITY

let tenant: string
let tenants = 0
const waiting = { waitSeconds: 0.3, status: 503 } as const
const service = await useFaultyService({
  settings: { ...shortTimeoutSettings, 'idempotency.whilePending': waiting },
})
beforeEach(() => {
  tenant = `resumer-${tenants++}`
})

const body = [
  'code,type,name,expiry_at',
  ...Array.from({ length: count }, (_, n) => `N-${n},percent-10,N,${expiry}`),
]
const post = (path: string, sent: unknown, headers: Record<string, string> = {}) =>
  service.call({
    method: 'POST',
    path,
    as: { tenant, role: 'Editor', scope },
    headers: { 'Idempotency-Key': 'key', ...headers },
    body: sent,
  })
const importAll = (headers: Record<string, string> = {}) =>
  post('/codes:import', body.join('\n'), { 'Content-Type': 'text/csv', ...headers })
const statusesOf = ({ json }: Answer) => json.items.map(({ status }: { status: number }) => status)
const isTransaction = ({ operation }: Call) => operation === 'TransactWriteItems'
/** The executed rows, by the uniqueness locks that they write. */
const isRow = (call: Call) => isTransaction(call) && JSON.stringify(call.body).includes('code_lock#')
const codesOf = () => service.items(tenant, 'code')

async function expectAllOnce(answer: Answer) {
  expect([answer.status, statusesOf(answer)]).toEqual([207, Array(count).fill(201)])
  const codes = await codesOf()
  expect(codes.map(({ id }) => id)).toEqual(answer.json.items.map(({ id }: { id: string }) => id).toSorted())
  expect(codes.map(({ version }) => version)).toEqual(Array(count).fill(1))
  expect(await service.items(tenant, 'code_lock')).toHaveLength(count)
  expect((await service.items(tenant, 'audit')).map(({ action }) => action)).toEqual(['import'])
  const replay = await importAll()
  expect([replay.body, replay.headers['Idempotency-Status']]).toEqual([answer.body, 'replayed'])
}

describe('an interrupted import', () => {
  const rows = [0, 1, 15, 16, 17, 39]
  const faults = ['lose-request', 'lose-answer', 'throttle', 'in-progress'] as const
  test.each(rows.flatMap((row, nth) => someOf(faults, nth).map((fault) => [row, fault] as const)))(
    'after %d rows (%s) resumes, and reports every row as created',
    async (row, fault) => {
      let begun = 0
      service.faults.inject({ when: (call) => isRow(call) && ++begun > row, times: forever, fault })
      expectRetryable(await importAll())
      service.endFaults(fault)
      const before = await codesOf()
      expect(before.length).toBeGreaterThanOrEqual(Math.min(row, count - 1))
      expect(before.length).toBeLessThan(fault === 'lose-answer' ? row + 17 : row + 1)
      const answer = await importAll()
      expect(service.faults.calls.filter(isRow)).toHaveLength(count - before.length)
      await expectAllOnce(answer)
    },
  )

  test('completes after repeated interruptions', async () => {
    let interruptions = 0
    for (let limit = 3; ; limit += 4) {
      let begun = 0
      service.faults.inject({ when: (call) => isRow(call) && ++begun > 4, times: forever, fault: 'throttle' })
      const answer = await importAll()
      service.endFaults('throttle')
      if (answer.status === 207) {
        expect(interruptions).toBeGreaterThanOrEqual(count / 4 - 1)
        return expectAllOnce(answer)
      }
      expectRetryable(answer)
      interruptions += 1
      expect((await codesOf()).length).toBeGreaterThan(limit)
    }
  })

  test('by the end of its budget resumes with the next request', async () => {
    service.faults.inject({ when: isRow, times: forever, fault: { first: () => service.clock.advance(200) } })
    const answer = await importAll({ 'X-Request-Timeout': '400' })
    expect(outcome(answer)).toBe('504 DEPENDENCY.timeout')
    service.faults.reset()
    await expectAllOnce(await importAll())
  })

  test('does not create codes again that were hard-deleted in between', async () => {
    let begun = 0
    service.faults.inject({ when: (call) => isRow(call) && ++begun > 20, times: forever, fault: 'throttle' })
    expectRetryable(await importAll())
    service.endFaults('throttle')
    const [made] = await codesOf()
    const gone = await service.call({
      method: 'DELETE',
      path: `/codes/${made?.id}?force=true`,
      as: { tenant, role: 'Admin', scope },
      headers: { 'X-Audit-Log-Reason': 'not wanted' },
    })
    expect(gone.status).toBe(204)
    const answer = await importAll()
    expect(statusesOf(answer)).toEqual(Array(count).fill(201))
    const ids = answer.json.items.map(({ id }: { id: string }) => id)
    expect(ids).toContain(made?.id)
    const left = ids.filter((id: string) => id !== made?.id)
    expect((await codesOf()).map(({ id }) => id)).toEqual(left.toSorted())
  })
})

describe('two concurrent requests for one import', () => {
  test('have one effect and one response: the second waits for the first', async () => {
    const answers = await Promise.all([importAll(), importAll(), importAll()])
    const done = answers.filter(({ status }) => status === 207)
    const others = answers.filter(({ status }) => status !== 207)
    for (const { status, json } of others) {
      expect(outcome({ status, json })).toBe('503 DEPENDENCY.unavailable')
    }
    expect(new Set(done.map(({ body: text }) => text)).size).toBe(1)
    expect(service.faults.calls.filter(isRow)).toHaveLength(count)
    await expectAllOnce(done[0] as Answer)
  })

  test('that take too long fail as retryable for the second while the first is in progress', async () => {
    const held = service.faults.inject({ when: isRow, fault: 'hold' })
    const first = importAll()
    await held.injected
    const second = await importAll()
    expect(outcome(second)).toBe('503 DEPENDENCY.unavailable')
    expect(second).toMatchObject({
      json: { error: { retryable: true } },
      headers: { 'Retry-After': expect.stringMatching(/^[1-5]$/) },
    })
    held.release()
    await expectAllOnce(await first)
  })

  test('create each row once and return the same response, although the first resumes after its lease expired', async () => {
    const held = service.faults.inject({ when: isRow, times: 16, fault: 'hold-request' })
    const first = importAll()
    await held.injected
    service.clock.advance(31_000)
    const second = importAll()
    // The rows of both are in progress when the first continues.
    while (service.faults.calls.filter(isRow).length < 30) await new Promise(setImmediate)
    held.release()
    const [one, other] = await Promise.all([first, second])
    if (one.status === 207) expect(one.body).toBe(other.body)
    else expectRetryable(one)
    await expectAllOnce(other)
  })
})
