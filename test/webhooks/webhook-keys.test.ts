import { createHmac } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { ConfigurationError } from '#shared/platform/base/failure.ts'
import { describeFault } from '#shared/platform/base/log.ts'
import { webhookKeys } from '#shared/platform/identity/signature.ts'
import { startService } from '#test/support/service.ts'
import { eventOf, webhookSecret } from '#test/support/signed-events.ts'

const encoded = Buffer.from('a key of 32 bytes that is long !').toString('base64')

describe('the secret that signs webhooks', () => {
  test.each([
    ['with the prefix', `whsec_${encoded}`],
    ['without the prefix', encoded],
    ['without padding', encoded.replace('=', '')],
    ['as letters and digits, like the stack generates it', 'a1B2'.repeat(10)],
  ])('is accepted %s', (_, secret) => {
    const [key] = webhookKeys(secret)
    expect(key?.toString('base64').replaceAll('=', '')).toBe(secret.replace('whsec_', '').replaceAll('=', ''))
  })

  test('holds several keys during a rotation', () => {
    expect(webhookKeys(`whsec_${encoded} ${webhookSecret}`)).toHaveLength(2)
  })

  test.each([
    ['with punctuation', `whsec_${encoded.slice(0, -4)}!x#y`],
    ['in the alphabet for URLs', 'whsec_-_-_'],
    ['with a character too few', 'whsec_abcde'],
    ['with bits that no byte takes up', 'whsec_QUJDRX=='],
    ['with padding in the middle', 'whsec_QQ==QUJD'],
    ['without a key', 'whsec_'],
    ['that is empty', ' '],
    ['whose second key is malformed', `${webhookSecret} whsec_***`],
  ])('is refused %s', (_, secret) => {
    expect(() => webhookKeys(secret)).toThrow(ConfigurationError)
  })

  test('is named in the log when it is malformed, without the secret', () => {
    let fault: unknown
    try {
      webhookKeys(`${webhookSecret} whsec_not*base64`)
    } catch (thrown) {
      fault = thrown
    }
    expect(describeFault(fault)).toMatchObject({
      name: 'ConfigurationError',
      message: 'key 2 of 2 in the webhook secret is not base64: store it again',
    })
  })
})

test('the message of any other fault stays out of the log', () => {
  expect(describeFault(new Error('somebody@example.com'))).not.toHaveProperty('message')
})

test('nobody gets in with an empty key while the secret is malformed', async () => {
  const service = await startService({ secrets: { webhooks: 'whsec_' } })
  const event = eventOf('cart.updated', { id: 'c' })
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const mac = createHmac('sha256', '').update(`${event.event_id}.${timestamp}.${body}`).digest('base64')
  const answer = await service.call({
    method: 'POST',
    path: '/v1/webhooks/events',
    headers: {
      'webhook-id': event.event_id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${mac}`,
    },
    body,
  })
  expect([answer.status, answer.json.error.code]).toEqual([500, 'INTERNAL.unexpected'])
})
