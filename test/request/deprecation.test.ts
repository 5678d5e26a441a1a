import { describe, expect, test } from '@jest/globals'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/checks/check-operations.ts'
import { movableClock } from '#test/support/clocks.ts'
import { outcome } from '#test/support/outcome.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { type Answer, startService } from '#test/support/service.ts'
import { localSettings, profile } from '#test/support/settings.ts'

/** The first millisecond after the sunset. */
const sunset = Date.parse('2031-07-01T00:00:00Z')
const dates = { deprecatedAt: '2031-01-01', sunsetAt: '2031-07-01' }

/** Placing orders is deprecated, reading them is not. */
const deprecating = (changes: object = dates, windowDays = 180) =>
  profile('shared/settings/profiles/local.json', {
    'versioning.sunset': {
      ...localSettings['versioning.sunset'],
      windowDays,
      deprecated: { 'orders.create': changes },
    },
  })

const clock = movableClock(sunset)
const service = await startService({ settings: deprecating(), clock })
const place = (key: string, how: object = {}) => placeOrder(service, 'acme', { key, ...how })
const noticeOf = ({ headers }: Answer) => [headers.Deprecation, headers.Sunset]
const notice = ['@1924992000', 'Tue, 01 Jul 2031 00:00:00 GMT']

describe('a deprecated operation before its sunset', () => {
  test('works, and each response states the deprecation and the sunset', async () => {
    clock.moveTo(sunset - 1)
    const anonymous = { method: 'POST', path: '/v1/orders', body: {} }
    const answers = [
      await place('before'),
      await place('before'),
      await place('refused', { body: {} }),
      await service.call(anonymous),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 400, 401])
    expect(answers[1]?.headers['Idempotency-Status']).toBe('replayed')
    for (const answer of answers) expect(noticeOf(answer)).toEqual(notice)
  })

  test('exposes these headers to scripts of other origins', async () => {
    const origin = localSettings['cors.allowedOrigins'][0] ?? ''
    const { headers } = await service.call({ method: 'POST', path: '/v1/orders', headers: { origin } })
    const exposed = headers['Access-Control-Expose-Headers']?.split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['Deprecation', 'Sunset']))
  })

  test('does not affect other operations', async () => {
    clock.moveTo(sunset + 1)
    const listed = await service.call({ path: '/v1/orders', as: { role: 'Editor' } })
    expect([listed.status, ...noticeOf(listed)]).toEqual([200, undefined, undefined])
  })
})

test('a deprecated operation after its sunset changes nothing, and replays nothing', async () => {
  clock.moveTo(sunset - 1)
  expect((await place('late')).status).toBe(201)
  const before = await service.items('acme', 'order')
  clock.moveTo(sunset)
  for (const key of ['late', 'later']) {
    const answer = await place(key)
    expect([outcome(answer), answer.json.error.http, ...noticeOf(answer)]).toEqual([
      '410 GONE.version',
      410,
      ...notice,
    ])
  }
  expect(await service.items('acme', 'order')).toEqual(before)
})

test.each([
  ['2031-01-31', 180, 'orders.create ends 30 days after its deprecation'],
  ['2030-01-01', 180, '-365 days'],
  ['2031-06-29', 180, 'orders.create ends 179 days after its deprecation'],
  ['2031-06-30', 180, undefined],
  ['2031-01-31', 30, undefined],
])(
  'a sunset on %s with a promise of %d days is rejected if it breaks the promise',
  (sunsetAt, days, message) => {
    const check = () => checkOperations(deprecating({ ...dates, sunsetAt }, days), routes, 'p.json')
    if (message === undefined) expect(check).not.toThrow()
    else expect(check).toThrow(message)
  },
)

test.each(['2031-02-30', '2031-1-1', 'soon', '2031-01-01T00:00:00Z'])(
  'the date %s is rejected',
  (sunsetAt) => {
    expect(() => deprecating({ ...dates, sunsetAt })).toThrow('a day such as 2030-01-31')
  },
)

test('the API description marks only deprecated operations, with their response after the sunset', () => {
  const described = JSON.parse(JSON.stringify(openapiDocument(deprecating())))
  const { get, post } = described.paths['/v1/orders']
  expect([get.deprecated, post.deprecated]).toEqual([undefined, true])
  expect(post.responses[410].description).toBe('GONE.version')
  expect(JSON.stringify(get)).not.toContain('GONE.version')
})
