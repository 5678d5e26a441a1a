import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { recordKey } from '#shared/platform/idempotency/idempotency-record.ts'
import { makeRefund, Refund, requestName } from '#shared/refunds/refund.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'

const changed = (changes: Partial<Settings>): Settings => ({ ...localSettings, ...changes })
const id = '01890a5d-ac96-874b-bcce-b302099a8000'
const refund = makeRefund(
  { charge_id: 'ch_1', amount: 700 },
  { id, tenant_id: 'acme', account: 'acct_1', request_name: 'request-1' },
)

describe('the body of a refund', () => {
  test.each([
    ['a short charge id', { charge_id: 'c' }, true],
    ['a charge id of 255 characters', { charge_id: 'c'.repeat(255) }, true],
    ['a charge id of 256 characters', { charge_id: 'c'.repeat(256) }, false],
    ['an empty charge id', { charge_id: '' }, false],
    ['a charge id that starts with a space', { charge_id: ' ch_1' }, false],
    ['a charge id that ends with a space', { charge_id: 'ch_1 ' }, false],
    ['an amount of 1', { amount: 1 }, true],
    ['an amount of 0', { amount: 0 }, false],
    ['an amount that is no integer', { amount: 1.5 }, false],
    ['an unknown field', { currency: 'EUR' }, false],
  ])('with %s: accepted %j', (_, changes, accepted) => {
    expect(v.is(Refund.request(localSettings), { charge_id: 'ch_1', amount: 1, ...changes })).toBe(accepted)
  })
})

describe('a new refund', () => {
  test('has the time of its id', () => {
    expect(refund).toMatchObject({ created_at: '2023-06-30T03:34:18.518Z', updated_at: refund.created_at })
  })

  test('is pending in its first version', () => {
    expect(refund).toMatchObject({ id, tenant_id: 'acme', status: 'pending', version: 1, amount: 700 })
  })
})

describe('the view of a refund', () => {
  const view = Refund.viewOf(refund)

  test('has the fields of every deployment, and none that only the service reads', () => {
    expect(view).toEqual({
      id,
      ...{ charge_id: 'ch_1', amount: 700, status: 'pending' },
      created_at: refund.created_at,
    })
    expect(Refund.viewOf({ ...refund, currency: 'EUR' })).toEqual({ ...view, currency: 'EUR' })
  })

  test('is reduced to its id and the fields of the setting by the schema of a response', () => {
    const settings = changed({ 'refunds.fields': ['status'] })
    expect(v.parse(Refund.view(settings), view)).toEqual({ id, status: 'pending' })
    expect(Refund.shown(view, settings)).toEqual({ id, status: 'pending' })
    expect(v.parse(Refund.view(localSettings), view)).toEqual(view)
  })

  test.each([
    ['a status that is no text', { status: 1 }],
    ['a broken amount', { amount: 1.5 }],
    ['a field that is not part of it', { account: 'acct_1', request_name: 'request-1' }],
    ['a field that is undefined', { created_at: undefined }],
  ])('with %s is a fault, also if callers do not get the field', (_, fault) => {
    const settings = changed({ 'refunds.fields': [] })
    expect(v.is(Refund.view(settings), view)).toBe(true)
    expect(v.is(Refund.view(settings), { ...view, ...fault })).toBe(false)
  })
})

describe('the name of a request at the payment provider', () => {
  const record = (...[key = 'k', principal = 'u1', tenant = 'acme', route = 'POST /v1/refunds']) =>
    recordKey(tenant, principal, route, key)

  test('is the same whenever the request is repeated', () => {
    expect(requestName('commerce-prod', record())).toBe(requestName('commerce-prod', record()))
    expect(requestName('commerce-prod', record())).toMatch(/^[\w-]{43}$/)
  })

  test('differs by the deployment, and by all that names its idempotency record', () => {
    const names = [
      requestName('commerce-prod', record()),
      requestName('commerce-staging', record()),
      ...[
        record('other'),
        record('k', 'u2'),
        record('k', 'u1', 'other'),
        record('k', 'u1', 'acme', 'POST /other'),
      ].map((one) => requestName('commerce-prod', one)),
    ]
    expect(new Set(names).size).toBe(6)
  })
})
