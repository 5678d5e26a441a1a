import { TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { expect, test } from '@jest/globals'
import { testClient } from '#test/support/dynamodb-client.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, patientSettings } from '#test/support/settings.ts'

/**
 * A client that counts calls and concurrent transactions. A transaction that times out on a busy machine is retried with
 * the same token and counted once.
 */
function countingClient() {
  const client = testClient()
  const send = client.send.bind(client) as (...sent: unknown[]) => Promise<unknown>
  const counted = { all: 0, transactions: 0, atOnce: 0 }
  const tokens = new Set<string | undefined>()
  let underWay = 0
  const counting = async (command: unknown, ...rest: unknown[]) => {
    const transacts = command instanceof TransactWriteItemsCommand
    const isRetry = transacts && tokens.has(command.input.ClientRequestToken)
    if (!isRetry) counted.all += 1
    if (!transacts) return send(command, ...rest)
    tokens.add(command.input.ClientRequestToken)
    counted.transactions = tokens.size
    underWay += 1
    counted.atOnce = Math.max(counted.atOnce, underWay)
    return send(command, ...rest).finally(() => {
      underWay -= 1
    })
  }
  return { client: Object.assign(client, { send: counting }), counted }
}

test('a thousand rows are one transaction each, sixteen concurrently, and a repetition replays the response', async () => {
  const { maxRows } = localSettings['codes.import']
  const { client, counted } = countingClient()
  const service = await startService({ client, settings: patientSettings })
  const rows = Array.from({ length: maxRows }, (_, n) => `C-${n},percent-10,Ten off,2099-01-01T00:00:00Z\n`)
  const call = {
    method: 'POST',
    path: '/codes:import',
    as: { tenant: 'many', scope: 'codes:write' },
    headers: { 'Content-Type': 'text/csv', 'Idempotency-Key': 'key' },
    body: `code,type,name,expiry_at\n${rows.join('')}`,
  }
  const first = await service.call(call)
  expect(first.json.counts).toEqual({ total: maxRows, succeeded: maxRows, failed: 0 })
  // Two more store the record and the audit before the rows, and the response after them.
  expect(counted.transactions).toBe(maxRows + 2)
  expect(counted.all).toBeLessThan(maxRows * 1.02)
  expect(counted.atOnce).toBe(16)
  const before = counted.all
  const replay = await service.call(call)
  expect(replay.body === first.body).toBe(true)
  expect(counted.all - before).toBeLessThan(4)
  expect(await service.items('many', 'code')).toHaveLength(maxRows)
})
