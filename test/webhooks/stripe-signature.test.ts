import { afterEach, describe, expect, test } from '@jest/globals'
import { Failure } from '#shared/platform/base/failure.ts'
import { verifyStripe } from '#shared/webhooks/stripe-signature.ts'
import { localSettings } from '#test/support/settings.ts'
import { signedByStripe, stripeEventOf } from '#test/support/stripe-events.ts'

const now = Date.parse('2026-03-01T12:00:00Z')
const payload = JSON.stringify(stripeEventOf('refund.updated', { id: 're_1' }))

/** The secret that is stored, and the one that a process still knows. */
let stored = 'whsec_one'
let known: string | undefined
let reads = 0
afterEach(() => {
  stored = 'whsec_one'
  known = undefined
  reads = 0
})

/** Returns the error code for a request, or `accepted`. */
async function outcome(
  headers: Record<string, string>,
  body: Uint8Array | string | undefined = payload,
): Promise<string> {
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const request = {
    ...{ method: 'POST', path: '/', params: {}, query: [], sourceAddress: '' },
    headers: Object.fromEntries(lowerCase),
    body: typeof body === 'string' ? Buffer.from(body) : body,
  }
  const secret = async (name: string, { renew = false } = {}) => {
    reads += 1
    expect(name).toBe('stripe_webhooks')
    return renew ? stored : (known ?? stored)
  }
  try {
    await verifyStripe({ request, secret, settings: localSettings, now: () => now })
    return 'accepted'
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    return thrown.code
  }
}

const signed = ({ secret = 'whsec_one', secondsAgo = 0 } = {}) =>
  signedByStripe(payload, { secret, at: now - secondsAgo * 1000 })
const refused = 'AUTH.invalid_credentials'

test('a signature of Stripe’s own helper is accepted, with one read of the secret', async () => {
  expect([await outcome(signed()), reads]).toEqual(['accepted', 1])
})

test.each<[string, Record<string, string>]>([
  ['another secret', signed({ secret: 'whsec_other' })],
  ['no header', {}],
  ['an empty header', { 'Stripe-Signature': '' }],
  ['a scheme without a signature', { 'Stripe-Signature': 't=1,v1' }],
  ['an empty signature', { 'Stripe-Signature': 't=1,v1=' }],
  ['a signature of other characters', { 'Stripe-Signature': `t=1,v1=é${'0'.repeat(63)}` }],
  ['no time', { 'Stripe-Signature': signed()['Stripe-Signature']?.replace(/^t=\d+,/, '') ?? '' }],
  ['another time', { 'Stripe-Signature': signed()['Stripe-Signature']?.replace(/t=\d/, 't=2') ?? '' }],
  ['another scheme', { 'Stripe-Signature': signed()['Stripe-Signature']?.replace('v1=', 'v0=') ?? '' }],
  ['the scheme of other webhooks', { 'webhook-signature': 'v1,eA==', 'webhook-id': 'evt_1' }],
])('a request with %s is refused', async (_, headers) => {
  expect(await outcome(headers)).toBe(refused)
})

test.each<[string, string | Uint8Array | undefined]>([
  ['another body', payload.replace('re_1', 're_2')],
  ['the same JSON with other white space', `${payload} `],
  ['an empty body', new Uint8Array()],
])('%s is refused', async (_, body) => {
  expect(await outcome(signed(), body)).toBe(refused)
})

test('a request without a body is refused', async () => {
  const noBody = { headers: { 'stripe-signature': signed()['Stripe-Signature'] ?? '' }, body: undefined }
  const request = { ...{ method: 'POST', path: '/', params: {}, query: [], sourceAddress: '' }, ...noBody }
  const verified = verifyStripe({
    request,
    secret: async () => stored,
    settings: localSettings,
    now: () => now,
  })
  await expect(verified).rejects.toMatchObject({ code: refused })
})

test.each([
  [300, 'accepted'],
  [301, refused],
])('a signature that is %d seconds old is %s', async (secondsAgo, expected) => {
  expect(await outcome(signed({ secondsAgo }))).toBe(expected)
})

describe('during a rotation', () => {
  test.each([' ', ', ', '\n'])('each of several secrets is accepted, separated by %j', async (separator) => {
    stored = ['whsec_new', 'whsec_one'].join(separator)
    expect(await outcome(signed())).toBe('accepted')
    expect(await outcome(signed({ secret: 'whsec_new' }))).toBe('accepted')
    expect(await outcome(signed({ secret: 'whsec_old' }))).toBe(refused)
  })

  test('a request with the signatures of both secrets of Stripe is accepted', async () => {
    const header = signed()['Stripe-Signature'] ?? ''
    expect(await outcome({ 'Stripe-Signature': header.replace(',', ',v1=00,') })).toBe('accepted')
  })

  test('a secret that was just stored is accepted by a process that knows the old one', async () => {
    known = 'whsec_old'
    expect([await outcome(signed()), reads]).toEqual(['accepted', 2])
  })
})
