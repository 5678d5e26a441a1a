import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { password } from '#test/support/identity-provider/cognito-users.ts'
import { providerOfTest } from '#test/support/identity-provider/provider-of-test.ts'
import { startService } from '#test/support/service.ts'
import { fillWindows } from './fill-window.ts'

const provider = await providerOfTest()
const start = Date.parse('2026-03-01T12:00:00Z')

/** A service whose clock stands still. */
async function standing() {
  const service = await startService({ clock: { ...systemClock, now: () => start, sleep: async () => {} } })
  const call = (path: string, email: string, from = '192.0.2.1', given = 'wrong') => {
    const body = path === '/login' ? { email, password: given } : { email }
    return service.call({ method: 'POST', path, from, body })
  }
  return { service, call }
}

// test/request tests bursts, and what happens as a window moves.
describe.each([
  ['/login', 5, 401, { captcha_required: true }],
  ['/password/reset', 10, 202, {}],
])('%s', (path, minutes, passed, details) => {
  const limited = {
    status: 429,
    headers: { 'Retry-After': String(minutes * 60) },
    json: { error: { code: 'RATE_LIMIT.exceeded', retryable: true, details } },
  }

  test('admits fifty requests of an address with an e-mail, in any case', async () => {
    const { service, call } = await standing()
    await call(path, 'own@acme.example')
    await fillWindows(service.tableName, Array(49).fill(start))
    expect((await call(path, 'own@acme.example')).status).toBe(passed)
    expect(await call(path, 'Own@acme.example')).toMatchObject(limited)
  })

  test('counts one source with many e-mails, at five times the limit', async () => {
    const { service, call } = await standing()
    await call(path, 'first@acme.example')
    await fillWindows(service.tableName, Array(249).fill(start))
    expect((await call(path, 'second@acme.example')).status).toBe(passed)
    // A large limit makes room a twentieth of its window later.
    const headers = { 'Retry-After': String(minutes * 63) }
    expect(await call(path, 'third@acme.example')).toMatchObject({ ...limited, headers })
  })

  test('counts each address and each e-mail separately', async () => {
    const { service, call } = await standing()
    await call(path, 'own@acme.example')
    await fillWindows(service.tableName, Array(50).fill(start))
    expect((await call(path, 'own@acme.example')).status).toBe(429)
    expect((await call(path, 'own@acme.example', '192.0.2.2')).status).toBe(passed)
    expect((await call(path, 'other@acme.example')).status).toBe(passed)
  })
})

test('a throttled login does not reach the provider, even with the right password, and publishes nothing', async () => {
  const { service, call } = await standing()
  await call('/login', 'right@acme.example')
  await fillWindows(service.tableName, Array(50).fill(start))
  const notes = (await service.items('public', 'login')).length
  provider.calls.length = 0
  expect((await call('/login', 'right@acme.example', '192.0.2.1', password)).status).toBe(429)
  expect(provider.calls).toEqual([])
  expect(await service.items('public', 'login')).toHaveLength(notes)
})
