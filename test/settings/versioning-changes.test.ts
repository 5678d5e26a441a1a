import { describe, expect, test } from '@jest/globals'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { movableClock } from '#test/support/clocks.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

/** The last millisecond before the sunset, and the first one after it. */
const sunset = Date.parse('2031-07-01T00:00:00Z')
const dates = { deprecatedAt: '2031-01-01', sunsetAt: '2031-07-01' }

/** Placing orders is deprecated, reading them is not. */
function deprecating(settings: Settings, deprecated: object = { 'orders.create': dates }): Settings {
  return readProfile(
    { ...settings, 'versioning.sunset': { ...settings['versioning.sunset'], deprecated } },
    'the profile of this test',
  )
}

const clock = movableClock(sunset)
const local = await startService({ settings: deprecating(localSettings), clock })
const other = await startService({ settings: deprecating(otherSettings), clock })

const order = { cart_id: 'cart-1', amount_minor: 100, currency: 'EUR' }
const identity = { role: 'Editor' }
const place = (service: Service, key: string, body: unknown = order) =>
  service.call({
    method: 'POST',
    path: '/v1/orders',
    as: identity,
    headers: { 'Idempotency-Key': key },
    body,
  })
const noticeOf = ({ headers }: { headers: Record<string, string> }) => [headers.Deprecation, headers.Sunset]
const notice = ['@1924992000', 'Tue, 01 Jul 2031 00:00:00 GMT']

describe('a deprecated operation before its sunset', () => {
  test('works, and each response states the deprecation and the sunset', async () => {
    clock.moveTo(sunset - 1)
    const placed = await place(local, 'before')
    expect([placed.status, ...noticeOf(placed)]).toEqual([201, ...notice])
    const replayed = await place(local, 'before')
    expect([replayed.headers['Idempotency-Status'], ...noticeOf(replayed)]).toEqual(['replayed', ...notice])
    const refused = await place(local, 'refused', {})
    expect([refused.status, ...noticeOf(refused)]).toEqual([400, ...notice])
    const strange = await local.call({ method: 'POST', path: '/v1/orders', body: order })
    expect([strange.status, ...noticeOf(strange)]).toEqual([401, ...notice])
  })

  test('exposes these headers to scripts of other origins', async () => {
    const origin = localSettings['cors.allowedOrigins'][0] ?? ''
    const { headers } = await local.call({ method: 'POST', path: '/v1/orders', headers: { origin } })
    const exposed = headers['Access-Control-Expose-Headers']?.split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['Deprecation', 'Sunset']))
  })

  test('does not affect other operations', async () => {
    clock.moveTo(sunset + 1)
    const listed = await local.call({ path: '/v1/orders', as: identity })
    expect([listed.status, ...noticeOf(listed)]).toEqual([200, undefined, undefined])
  })
})

describe('a deprecated operation after its sunset', () => {
  test('versioning.sunset: returns the status and code of the profile', async () => {
    clock.moveTo(sunset)
    const answers = await Promise.all([local, other].map((service) => place(service, 'after')))
    expect(answers.map(({ status, json }) => `${status} ${json.error.code}`)).toEqual([
      '410 GONE.version',
      '404 NOT_FOUND.route',
    ])
    for (const answer of answers) {
      expect(answer.json.error.http).toBe(answer.status)
      expect(noticeOf(answer)).toEqual(notice)
    }
  })

  test('changes nothing, and replays nothing', async () => {
    clock.moveTo(sunset - 1)
    const as = { ...identity, tenant: 'late' }
    const call = {
      method: 'POST',
      path: '/v1/orders',
      as,
      headers: { 'Idempotency-Key': 'late' },
      body: order,
    }
    expect((await local.call(call)).status).toBe(201)
    clock.moveTo(sunset)
    const again = { ...call, headers: { 'Idempotency-Key': 'later' } }
    expect([(await local.call(call)).status, (await local.call(again)).status]).toEqual([410, 410])
    expect(await local.items('late', 'order')).toHaveLength(1)
  })
})

describe('a profile', () => {
  const check = (settings: Settings, days: object) => () =>
    checkOperations(
      { ...deprecating(settings, { 'orders.create': days }), 'idempotency.requiredOn': [] },
      routes,
      'p.json',
    )

  test('versioning.sunset: is rejected if it breaks its minimum notice period', () => {
    const short = { deprecatedAt: '2031-01-01', sunsetAt: '2031-01-31' }
    expect(check(localSettings, short)).toThrow('orders.create ends 30 days after its deprecation')
    expect(check(otherSettings, short)).not.toThrow()
    expect(check(localSettings, { deprecatedAt: '2031-01-01', sunsetAt: '2031-06-30' })).not.toThrow()
    expect(check(localSettings, { deprecatedAt: '2031-01-01', sunsetAt: '2030-01-01' })).toThrow('-365 days')
  })

  test.each(['2031-02-30', '2031-1-1', 'soon', '2031-01-01T00:00:00Z'])(
    'with the date %s is rejected',
    (sunsetAt) => {
      expect(() =>
        deprecating(localSettings, { 'orders.create': { deprecatedAt: '2030-01-01', sunsetAt } }),
      ).toThrow('a day such as 2030-01-31')
    },
  )
})

test('the API description marks only deprecated operations, with their response after the sunset', () => {
  const described = JSON.parse(JSON.stringify(openapiDocument(deprecating(localSettings))))
  const { get, post } = described.paths['/v1/orders']
  expect([get.deprecated, post.deprecated]).toEqual([undefined, true])
  expect(post.responses[410].description).toBe('GONE.version')
  expect(JSON.stringify(get)).not.toContain('GONE.version')
})
