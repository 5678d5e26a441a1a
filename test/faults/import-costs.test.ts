import { expect, test } from '@jest/globals'
import { localSettings, longTimeoutSettings } from '#test/support/settings.ts'
import type { Call } from './faults.ts'
import { useFaultyService } from './faulty-service.ts'

const service = await useFaultyService({ settings: longTimeoutSettings })
const isTransaction = ({ operation }: Call) => operation === 'TransactWriteItems'
/** The rows, by the uniqueness locks that they write. */
const isRow = (call: Call) => isTransaction(call) && JSON.stringify(call.body).includes('code_lock#')

test('a thousand rows are one transaction each, sixteen concurrently, and a repetition replays the response', async () => {
  const { calls } = service.faults
  const { maxRows } = localSettings['codes.import']
  const rows = Array.from({ length: maxRows }, (_, n) => `C-${n},percent-10,Ten off,2099-01-01T00:00:00Z\n`)
  const call = {
    method: 'POST',
    path: '/codes:import',
    as: { tenant: 'many', scope: 'codes:write' },
    headers: { 'Content-Type': 'text/csv', 'Idempotency-Key': 'key' },
    body: `code,type,name,expiry_at\n${rows.join('')}`,
  }
  const rowCalls = () => calls.filter(isRow).length
  const held = service.faults.inject({ when: isRow, times: 100, fault: 'hold-request' })
  const response = service.call(call)
  while (rowCalls() < 16) await new Promise(setImmediate)
  for (let turns = 0; turns < 100; turns += 1) await new Promise(setImmediate)
  expect(rowCalls()).toBe(16)
  held.release()
  const first = await response
  expect(first.json.counts).toEqual({ total: maxRows, succeeded: maxRows, failed: 0 })
  // Two more store the record and the audit before the rows, and the response after them. A call that a busy machine keeps
  // for three seconds is repeated, with the same body.
  expect(new Set(calls.filter(isTransaction).map(({ body }) => JSON.stringify(body))).size).toBe(maxRows + 2)
  expect(calls.filter((one) => !isTransaction(one)).length).toBeLessThan(maxRows * 0.02)
  const before = calls.length
  const replay = await service.call(call)
  expect(replay.body === first.body).toBe(true)
  expect(calls.length - before).toBeLessThan(4)
  expect(await service.items('many', 'code')).toHaveLength(maxRows)
})
