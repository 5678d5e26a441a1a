import { expect, test } from '@jest/globals'
import { movableSystemClock } from '#test/support/clocks.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { password } from '#test/support/identity-provider/cognito-users.ts'
import { providerOfTest } from '#test/support/identity-provider/provider-of-test.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { startService } from '#test/support/service.ts'
import { writtenLog } from '#test/support/written-log.ts'

const provider = await providerOfTest()

/** The values that a caller sends and the provider returns. They may occur only in the caller's own response. */
const secrets = /canary|CANARY|Correct-horse|wrong-horse|[\w.]+@[\w.]+|192\.0\.2\.77/

test('records, events, queues, logs and errors contain neither e-mail, password, token nor address', async () => {
  const service = await startService({ clock: movableSystemClock() })
  let keys = 0
  const call = (path: string, body: object, failsInternally = false) => {
    const headers = { 'Idempotency-Key': `key-${keys++}` }
    return service.call({ method: 'POST', path, from: '192.0.2.77', headers, body, failsInternally })
  }
  const bodies: object[] = [
    { email: 'canary.happy@acme.example', password },
    { email: 'canary.wrong@acme.example', password: 'wrong-horse' },
    ...['unknown', 'locked', 'reset', 'totp', 'homeless'].map((kind) => ({
      email: `${kind}-canary@acme.example`,
      password,
    })),
    { email: 'canary.extra@acme.example', password, note: 'canary' },
    { email: 'canary', password },
    { email: 'canary.long@acme.example', password: 'canary'.repeat(50) },
  ]
  const answers = []
  for (const body of bodies) answers.push(await call('/login', body))
  provider.faults = () => ({
    status: 500,
    body: { __type: 'InternalErrorException', message: 'canary@acme.example' },
  })
  answers.push(await call('/login', bodies[0] ?? {}))
  provider.faults = () => ({
    status: 400,
    body: { __type: 'ResourceNotFoundException', message: 'canary@acme.example' },
  })
  answers.push(await call('/login', bodies[0] ?? {}, true))
  for (const email of ['canary.reset@acme.example', 'unknown-canary@acme.example', 'canary'])
    answers.push(await call('/password/reset', { email }))
  expect(answers.map(({ status }) => status)).toEqual([
    200, 401, 401, 401, 401, 403, 403, 400, 400, 400, 503, 500, 202, 202, 400,
  ])

  const [happy, ...others] = answers
  expect(happy?.body).toMatch(/canary-signature/)
  for (const { body, headers } of others) expect(JSON.stringify({ body, headers })).not.toMatch(secrets)

  const items = await itemsOf(service.tableName)
  expect(items.map(({ pk }) => pk.split('#')[0])).toEqual(
    expect.arrayContaining(['login', 'password_reset', 'rate', 'idempotency']),
  )
  expect(JSON.stringify(items)).not.toMatch(secrets)
  const events = items.flatMap(eventsOf)
  expect(events.map(({ type }) => type).toSorted()).toEqual([...Array(6).fill('login.fail'), 'login.success'])
  expect(JSON.stringify([events, items.map(({ task }) => task)])).not.toMatch(secrets)

  const written = writtenLog((log) => {
    for (const line of service.lines) log.request(line)
  })
  expect(written).toHaveLength(answers.length)
  expect(written.join('')).not.toMatch(secrets)
})
