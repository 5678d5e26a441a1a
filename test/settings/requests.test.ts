import { checkConcurrency } from '#lib/checks/check-concurrency.ts'
import { stageNamed } from '#lib/stage.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { idAt } from '#test/support/ids.ts'
import { newEmail, requestCode } from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { startPending } from '../faults/payment-saga.ts'
import { each, newTenantOf, type Options, type Row, type Tenant, testChanges } from './changes.ts'

const hour = 3_600_000
const withKey = (key: string | undefined) => ({ headers: { 'Idempotency-Key': key } })
const header = (name: string, options?: Options) => async (tenant: Tenant) =>
  (await tenant.health(options)).headers[name]
const placed =
  (options: Options, body = {}) =>
  async ({ place }: Tenant) =>
    outcome(await place(body, options))
const healthy =
  (options: Options) =>
  async ({ health }: Tenant) =>
    outcome(await health(options))

/** Repeats a request while the first one with its key is in progress, which does not wait. */
async function secondOf({ settings }: Tenant) {
  const { status } = settings['idempotency.whilePending']
  const changes = { ...settings, 'idempotency.whilePending': { waitSeconds: 0, status } }
  const { pay, release } = await startPending(changes)
  const answer = await pay()
  await release()
  return [outcome(answer), answer.json.error.retryable, answer.headers['Retry-After']]
}

/** Reads an order while each reading of the clock advances it, like a slow step of the request. */
const slowRead =
  (step: number, headers = {}) =>
  async ({ under }: Tenant) => {
    let now = Date.now()
    const slow = await under({}, () => (now += step))
    return outcome(await slow.call('GET', `/v1/orders/${idAt(now)}`, { headers }))
  }
const oneUnit = { 'X-Request-Timeout': '1' }

// biome-ignore format: a table of rows
const rows: Row[] = [
  ['idempotency.keyMaxLength', 64, placed(withKey('k'.repeat(65))), '400 VALIDATION.idempotency_key.length'],
  ['idempotency.lifetimeHours', 72, ({ place, under }) =>
      each([23.9, 24.1, 71.9, 72.1], async (hours) => {
      await place({}, withKey(`after-${hours}`))
      const later = await under({}, () => Date.now() + hours * hour)
      return (await later.place({}, withKey(`after-${hours}`))).headers['Idempotency-Status']
    }), ['replayed', 'replayed', 'replayed', 'stored']],
  ['idempotency.whilePending', { status: 409 }, secondOf, ['409 CONFLICT.idempotency.in_progress', false, undefined]],
  ['idempotency.whilePending', { waitSeconds: 0 }, // The first one ends while the second one waits.
    async ({ settings }) => {
    let release = () => {}
    const sleep = (milliseconds: number) => {
      release()
      return systemClock.sleep(milliseconds)
    }
    const pending = await startPending(settings, { ...systemClock, sleep })
    release = () => void pending.release()
    const second = await pending.pay()
    await pending.release()
    return outcome(second)
  }, '503 DEPENDENCY.unavailable'],
  ['errors.retryAfterSeconds', { min: 7, max: 7 }, async (tenant) => (await secondOf(tenant))[2], '7'],
  ['idempotency.anonymousScope', ['email', 'source'], async ({ service }) => {
    const [email, headers] = [newEmail(), { 'Idempotency-Key': 'same' }]
    await requestCode(service, email, { from: '192.0.2.1', headers })
    const again = await requestCode(service, email, { from: '192.0.2.2', headers })
    return again.headers['Idempotency-Status']
  }, 'stored'],
  ['idempotency.requiredOn', ['codes.soft-delete'],
    async ({ make, softDelete, editor }) => outcome(await softDelete(editor, (await make()).id)),
    '400 VALIDATION.idempotency_key.required'],
  ['idempotency.missingKey', 'VALIDATION.header.invalid', placed(withKey(undefined)), '400 VALIDATION.header.invalid'],
  ['requests.timeoutHeader', { unit: 'seconds', minMilliseconds: 2000, maxMilliseconds: 25_000 },
    // Without the header, the maximum applies.
    (tenant) =>
      each([slowRead(1200, oneUnit), slowRead(50, oneUnit), slowRead(1750)], (read) => read(tenant)),
    ['504 DEPENDENCY.timeout', '404 NOT_FOUND.order', '404 NOT_FOUND.order']],
  ['requests.correlationId', { form: 'word', maxLength: 40 }, (tenant) =>
      each(['checkout:42', 'x'.repeat(41), 'x'.repeat(40)], async (id) => {
      return (await header('X-Correlation-Id', { headers: { 'X-Correlation-Id': id } })(tenant)) === id
    }), [false, false, true]],
  ['limits.tooLarge', 'VALIDATION.body.invalid', healthy({ body: 'x'.repeat(33_000) }), '413 VALIDATION.body.invalid'],
  ['limits.other', { 'discount.verify': [{ limit: 2, windowSeconds: 600, per: 'principal', counts: 'failures' }] },
    ({ call }) => each([1, 2, 3], async () => (await call('POST', '/discount/verify', { body: { code: 'X' } })).status),
    [200, 200, 429]],
  ['errors.multiField', 'fields_and_errors', async ({ place }) => {
    const { details } = (await place({ cart_id: 1, currency: 1 })).json.error
    return [Object.keys(details), details.errors?.map(({ field }: { field: string }) => field)]
  }, [['fields', 'errors'], ['cart_id', 'currency']]],
  ['errors.docs', 'https://docs.example.com/errors.html', async ({ place }) => (await place({ cart_id: 1 })).json.error.docs,
    'https://docs.example.com/errors.html#VALIDATION.field.type'],
  ['errors.expiredToken', 'AUTH.invalid_credentials',
    async ({ orders }) => outcome(await orders('', { as: { expiresInSeconds: -60 } })), '401 AUTH.invalid_credentials'],
  ['errors.unsupportedMedia', 400, placed({ headers: { 'Content-Type': 'text/plain' } }),
    '400 VALIDATION.content_type.unsupported'],
  ['errors.notAcceptable', 400, placed({ headers: { Accept: 'text/html' } }), '400 VALIDATION.accept.unsupported'],
  ['health.body', { ok: true }, async ({ health }) => (await health()).json, { status: 'pass', ok: true }],
  ['health.mediaType', 'application/json', header('Content-Type'), 'application/json'],
  ['storage.shards', { tenants: { sharded: { writes: 64, reads: 64 } } }, async ({ settings }) => {
    const { tableName } = await startService()
    const { service, place, orders } = await newTenantOf(settings, { tenant: 'sharded', tableName })
    await each(Array(12).fill({}), place)
    const partitions = new Set((await service.items('sharded', 'order')).map(({ pk }) => pk))
    return [partitions.size > 1, (await orders()).json.data.length]
  }, [true, 12]],
  ['versioning.sunset',
    { status: 404, code: 'NOT_FOUND.route', deprecated: { 'orders.list': { deprecatedAt: '2020-01-01', sunsetAt: '2021-01-01' } }},
    async ({ orders }) => outcome(await orders()), '404 NOT_FOUND.route'],
  ['limits.concurrency', 200,
    ({ settings }) => thrownBy(() => checkConcurrency(stageNamed('prod'), settings, '')) !== undefined, true],
]

testChanges(rows, newTenantOf)
