import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { exampleOf, withQuery } from '#test/support/examples.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Call, type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

/** A used key with another payload is a mismatch, also when that payload is invalid. */
const mismatch = '409 CONFLICT.idempotency.payload_mismatch'
const as = { tenant: 'acme', role: 'Admin', scope: 'codes:read codes:write' }
const limit = { limit: 1000, windowSeconds: 60, per: 'principal', counts: 'requests' } as const

let ahead = 0
let service: Service
beforeAll(async () => {
  service = await startService({
    settings: {
      ...localSettings,
      'limits.other': { 'discount.verify': [limit] },
      'imports.inProgressPerTenant': 1000,
    },
    clock: { ...systemClock, now: () => Date.now() + ahead },
  })
})
beforeEach(() => {
  ahead = 0
})

async function keyedCall(route: Route): Promise<Call> {
  const { path, headers, body } = await exampleOf(route, service, as.tenant)
  return {
    method: route.method,
    path,
    ...(route.auth === 'bearer' && { as }),
    headers: { ...headers, 'Idempotency-Key': crypto.randomUUID() },
    ...(body !== undefined && { body }),
  }
}

const withHeaders = (call: Call, headers: Record<string, string>): Call => ({
  ...call,
  headers: { ...call.headers, ...headers },
})
const unknownParameter = (call: Call) => ({ ...call, path: withQuery(call.path, { surprise: '1' }) })
const keyed = routes.map(({ route }) => route).filter(({ idempotency }) => idempotency !== 'none')
const named = (all: readonly Route[]) => all.map((route) => [route.operation, route] as const)

const bearer = keyed.filter(({ auth }) => auth === 'bearer')

test.each(named(bearer))('a used key of %s is a mismatch with an invalid request', async (_, route) => {
  const call = await keyedCall(route)
  await service.call(call)
  expect(outcome(await service.call(unknownParameter(call)))).toBe(mismatch)
})

// The rules are the same for each route, so one with a body stands for all.
describe.each(named(bearer.filter(({ operation }) => operation === 'orders.create')))(
  'a used key of %s',
  (_, route) => {
    let call: Call
    beforeAll(async () => {
      call = await keyedCall(route)
      await service.call(call)
    })

    test('is a mismatch with a malformed tenant', async () => {
      const call_ = { ...call, path: withQuery(call.path, { tenant: 'no name' }) }
      expect(outcome(await service.call(call_))).toBe(mismatch)
    })

    test('does not hide that Accept is unsupported', async () => {
      expect((await service.call(withHeaders(call, { Accept: 'image/png' }))).status).toBe(406)
    })

    test('belongs to its caller', async () => {
      const other = { ...unknownParameter(call), as: { ...as, sub: 'another' } }
      expect((await service.call(other)).status).toBe(400)
    })

    test('does not matter without a valid token', async () => {
      const { as: _as, ...anonymous } = unknownParameter(call)
      expect((await service.call(anonymous)).status).toBe(401)
    })

    test('does not matter without the permission', async () => {
      const denied = { ...unknownParameter(call), as: { ...as, role: 'Nobody' } }
      expect((await service.call(denied)).status).toBe(403)
    })

    test('does not matter after its record has expired', async () => {
      ahead = (service.settings['idempotency.lifetimeHours'] * 3600 + 1) * 1000
      expect((await service.call(unknownParameter(call))).status).toBe(400)
    })

    test('does not matter if the payload is invalid and the key unused', async () => {
      const unused = withHeaders(unknownParameter(call), { 'Idempotency-Key': crypto.randomUUID() })
      const first = await service.call(unused)
      const second = await service.call(unused)
      expect([first.status, second.status]).toEqual([400, 400])
    })

    test('is a mismatch with another media type', async () => {
      expect(outcome(await service.call(withHeaders(call, { 'Content-Type': 'image/png' })))).toBe(mismatch)
    })

    test('does not matter for a body that is too large', async () => {
      const large = { ...call, body: 'x'.repeat(6_000_000) }
      expect((await service.call(large)).status).toBe(413)
    })

    test.each(['{', '[]', '{"surprise":1}'])('is a mismatch with the body %s', async (body) => {
      const json = withHeaders({ ...call, body }, { 'Content-Type': 'application/json' })
      expect(outcome(await service.call(json))).toBe(mismatch)
    })
  },
)

test.each(named(keyed.filter(({ auth }) => auth === 'none')))(
  'an invalid payload of %s is rejected as such, as its caller is part of the payload',
  async (_, route) => {
    const call = await keyedCall(route)
    await service.call(call)
    expect((await service.call(unknownParameter(call))).status).toBe(400)
  },
)

test('a mismatch by an invalid payload counts towards the limits of its route', async () => {
  const settings = { ...localSettings, 'limits.other': { 'discount.verify': [{ ...limit, limit: 2 }] } }
  const limited = await startService({ settings })
  const call: Call = {
    method: 'POST',
    path: '/discount/verify',
    as,
    headers: { 'Idempotency-Key': 'k' },
    body: { code: 'NONE' },
  }
  await limited.call(call)
  const invalid = { ...call, body: { code: 7 } }
  expect(outcome(await limited.call(invalid))).toBe(mismatch)
  expect(outcome(await limited.call(invalid))).toBe('429 RATE_LIMIT.exceeded')
})
