import { afterAll, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { password } from '#test/support/identity-provider/cognito-users.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, profile } from '#test/support/settings.ts'
import { fillWindows } from './fill-window.ts'

const provider = await startIdentityProvider()
useIdentityProvider(provider)
afterAll(() => provider.stop())

const start = Date.parse('2026-03-01T12:00:00Z')
const minute = 60_000

// A burst takes time on a busy machine.
const settings = profile('shared/settings/profiles/local.json', {
  'requests.timeoutHeader': { ...localSettings['requests.timeoutHeader'], maxMilliseconds: 26_000 },
})

/** Returns the number of requests in each window: by source and e-mail, and by source. */
async function counted(tableName: string): Promise<number[]> {
  const windows = (await itemsOf(tableName)).filter(({ pk }) => String(pk).startsWith('rate#'))
  return windows.map(({ times }) => (times as number[]).length)
}

/** A service whose clock moves only on request. */
async function standing() {
  const time = { now: start }
  const service = await startService({
    settings,
    clock: { ...systemClock, now: () => time.now, sleep: async () => {} },
  })
  const call = (path: string, email: string, from = '192.0.2.1', given = 'wrong') => {
    const body = path === '/login' ? { email, password: given } : { email }
    return service.call({ method: 'POST', path, from, body })
  }
  return { time, service, call }
}

describe.each([
  ['/login', 5, 401, { captcha_required: true }],
  ['/password/reset', 10, 202, {}],
])('%s', (path, minutes, passed, details) => {
  test('admits of twenty concurrent requests those that remain within the limit', async () => {
    const { time, service, call } = await standing()
    await call(path, 'burst@acme.example')
    await fillWindows(service.tableName, Array(44).fill(start))
    time.now += 1000
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(path, 'Burst@acme.example')))
    const statuses = answers.map(({ status }) => status)
    const admitted = statuses.filter((status) => status === passed)
    // On a busy machine some requests time out or are counted twice. More than the limit are never admitted.
    const late = statuses.filter((status) => status >= 500)
    expect(admitted.length).toBeLessThanOrEqual(6)
    if (late.length === 0) expect(await counted(service.tableName)).toEqual([50, 50])
    expect(statuses.filter((status) => status === 429)).toHaveLength(20 - admitted.length - late.length)
    const times = Array(50).fill(start)
    await fillWindows(service.tableName, times)
    const refused = await call(path, 'burst@acme.example')
    expect(refused.json.error).toMatchObject({ code: 'RATE_LIMIT.exceeded', retryable: true, details })
    expect(refused.headers['Retry-After']).toBe(String(minutes * 60 - 1))
  })

  test('admits the next request as soon as the window moves', async () => {
    const { time, service, call } = await standing()
    await call(path, 'moved@acme.example')
    const times = Array.from({ length: 50 }, (_, n) => start + n * 1000)
    await fillWindows(service.tableName, times)
    time.now = start + minutes * minute - 1
    expect((await call(path, 'moved@acme.example')).status).toBe(429)
    time.now += 1
    expect((await call(path, 'moved@acme.example')).status).toBe(passed)
    const full = await call(path, 'moved@acme.example')
    expect(full).toMatchObject({ status: 429, headers: { 'Retry-After': '1' } })
  })

  test('counts one source with many e-mails, at five times the limit', async () => {
    const { service, call } = await standing()
    await call(path, 'first@acme.example')
    await fillWindows(service.tableName, Array(249).fill(start))
    expect((await call(path, 'second@acme.example')).status).toBe(passed)
    expect((await call(path, 'third@acme.example')).json.error).toMatchObject({
      code: 'RATE_LIMIT.exceeded',
      details,
    })
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
