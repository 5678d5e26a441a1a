import { expect, test } from '@jest/globals'
import { createApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { useFaultyService } from '#test/faults/faulty-service.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import {
  cookiesOf,
  newEmail,
  otherThan,
  requestCode,
  requestedCode,
  sessionHeaders,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import type { Answer } from '#test/support/service.ts'
import { writtenLog } from '#test/support/written-log.ts'

const service = await useFaultyService()

/** Returns the table operations of a response, with the items of its transactions. */
async function workOf(ask: () => Promise<Answer>): Promise<{ answer: Answer; work: string[] }> {
  const from = service.faults.calls.length
  const answer = await ask()
  const work = service.faults.calls.slice(from).map(({ operation, body }) => {
    const { TransactItems = [] } = body as { TransactItems?: object[] }
    return `${operation} ${TransactItems.flatMap((item) => Object.keys(item)).join()}`.trim()
  })
  return { answer, work }
}

let sources = 0
const how = () => ({ from: `s${sources++}`, headers: { 'X-Correlation-Id': 'same' } })

test('a known and an unknown address, and all rejected codes, cost the same work and get the same response', async () => {
  const verify = (email: string, code: string) => workOf(() => verifyCode(service, email, code, how()))
  const [open, used, spent, superseded] = [newEmail(), newEmail(), newEmail(), newEmail()]
  const code = await requestedCode(service, open, how())
  const usedCode = await requestedCode(service, used, how())
  expect((await verify(used, usedCode)).answer.status).toBe(200)
  const spentCode = await requestedCode(service, spent, how())
  for (let n = 0; n < 49; n += 1) await verify(spent, otherThan(spentCode))
  const owner = how()
  const first = await requestedCode(service, superseded, owner)
  await requestedCode(service, superseded, owner)
  const outcomes = [
    await verify(newEmail(), '123456'),
    await verify(open, otherThan(code)),
    await verify(used, usedCode),
    await verify(spent, spentCode),
    await verify(superseded, first),
    await verify(open, 'not a code'),
  ]
  const [unknown] = outcomes
  // The throttles read and write, the last of them a window that is new for this source. The code is read and its item
  // written, and the failure is counted.
  expect(unknown?.work).toEqual([
    'GetItem',
    'UpdateItem',
    'UpdateItem',
    'PutItem',
    'GetItem',
    'TransactWriteItems Put',
    'UpdateItem',
  ])
  for (const { answer, work } of outcomes) {
    expect(answer.json.error.code).toBe('CODE.invalid')
    expect({ answer, work }).toEqual(unknown)
  }

  const request = (email: string) => workOf(() => requestCode(service, email, how()))
  const [fresh, again] = [await request(newEmail()), await request(open)]
  const afterSpent = await request(spent)
  expect(fresh.work).toEqual(['UpdateItem', 'UpdateItem', 'PutItem', 'GetItem', 'TransactWriteItems Put,Put'])
  expect([again.work, afterSpent.work]).toEqual([fresh.work, fresh.work])
  expect([again.answer.status, again.answer.body?.length]).toEqual([202, fresh.answer.body?.length])
})

test('a wrong session and a wrong key cost the same read, whatever is wrong', async () => {
  const email = newEmail()
  const verified = await verifyCode(service, email, await requestedCode(service, email))
  const headers = sessionHeaders(service, verified)
  const { key } = await createApiKey(
    { table: service.table, clock: systemClock, name: 'jane' },
    { tenant: 't', name: 'n', scopes: [] },
  )
  const discount = (by: Record<string, string>) =>
    workOf(() =>
      service.call({
        method: 'POST',
        path: '/discount/verify',
        headers: { ...by, 'X-Correlation-Id': 'same' },
        body: {},
      }),
    )
  const Cookie = headers.Cookie ?? ''
  const wrong = { 'X-Api-Key': key.replace(/[\w-]{43}$/, 'A'.repeat(43)) }
  const unknown = { 'X-Api-Key': key.replace('ck_t.', 'ck_u.') }
  const bySession = [
    await discount({ ...headers, Cookie: Cookie.replace(/\.[\w-]{43}/, `.${'A'.repeat(43)}`) }),
    await discount({ ...headers, Cookie: Cookie.replace(/=[0-9a-f]{8}/, '=00000000') }),
  ]
  const byKey = [await discount(wrong), await discount(unknown)]
  for (const [one, other] of [bySession, byKey]) {
    expect(one?.work).toEqual(['GetItem'])
    expect(one?.answer.status).toBe(401)
    expect(other).toEqual(one)
  }
})

test('stored items, queues, events and logs contain no secret', async () => {
  const email = 'canary-address@example.com'
  const headers = { 'Idempotency-Key': 'canary' }
  const code = await requestedCode(service, email, { headers, ...{ from: '203.0.113.77' } })
  const wrong = await verifyCode(service, email, otherThan(code))
  const verified = await verifyCode(service, email, code, { headers: { 'Idempotency-Key': 'canary-too' } })
  const used = await service.call({
    method: 'POST',
    path: '/discount/verify',
    headers: { ...sessionHeaders(service, verified), 'Idempotency-Key': 'x' },
    body: { code: 'X' },
  })
  const { key } = await createApiKey(
    { table: service.table, clock: systemClock, name: 'jane' },
    {
      tenant: 'canaries',
      name: 'n',
      scopes: ['orders:read'],
    },
  )
  const listed = await service.call({ path: '/v1/orders', headers: { 'X-Api-Key': key } })
  expect([wrong.status, verified.status, used.status, listed.status]).toEqual([400, 200, 200, 200])

  const cookies = cookiesOf(verified)
  const secrets = [
    email,
    'canary-address',
    '203.0.113.77',
    `"${code}"`,
    cookies['__Host-session']?.split('.')[1] ?? '-',
    cookies.csrf_token ?? '-',
    key.split('.')[2] ?? '-',
  ]
  const written = writtenLog((log) => {
    for (const line of service.lines) log.request(line)
  })
  const everything = {
    // Entities, outboxes with events, tasks with queued work, audit and idempotency records.
    table: JSON.stringify(await itemsOf(service.tableName)),
    logs: written.join(''),
    answers: JSON.stringify([wrong, used, listed, { ...verified, cookies: [] }]),
  }
  expect(everything.table).toContain('otp.verified')
  expect(everything.table).toContain('idempotency#')
  expect(everything.logs).toContain('otp.verify')
  for (const [place, text] of Object.entries(everything))
    for (const secret of secrets) expect([place, text.includes(secret)]).toEqual([place, false])
})
