import { createHmac } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { describeFault, fail } from '#shared/platform/base/failure.ts'
import { signingKeys } from '#shared/platform/identity/signature.ts'
import { outcome } from '#test/support/outcome.ts'
import { sendEvent } from '#test/support/received-events.ts'
import { type Service, startService } from '#test/support/service.ts'
import { eventOf, signed, webhookSecret } from '#test/support/signed-events.ts'

describe('the webhook secret', () => {
  test('is named in the log if it is malformed, without its value', () => {
    let fault: unknown
    try {
      signingKeys(`${webhookSecret} whsec_not*base64`)
    } catch (thrown) {
      fault = thrown
    }
    expect(describeFault(fault)).toMatchObject({
      name: 'ConfigurationError',
      message: 'key 2 of 2 in the webhook secret is not base64: store it again',
    })
  })
})

test('the message of any other error is not logged', () => {
  expect(describeFault(new Error('somebody@example.com'))).not.toHaveProperty('message')
})

test('nobody can sign with an empty key while the secret is malformed', async () => {
  const service = await startService({ secrets: { webhooks: 'whsec_' } })
  const event = eventOf('cart.updated', { id: 'c' })
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const mac = createHmac('sha256', '').update(`${event.event_id}.${timestamp}.${body}`).digest('base64')
  const failing: Service = { ...service, call: (call) => service.call({ ...call, failsInternally: true }) }
  const answer = await sendEvent(failing, event, {
    'webhook-id': event.event_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${mac}`,
  })
  expect(outcome(answer)).toBe('500 INTERNAL.unexpected')
})

describe('a key that was stored a moment ago', () => {
  const next = `whsec_${Buffer.from('the key that comes after it').toString('base64')}`
  const event = eventOf('cart.emptied', { id: 'c' })
  const body = JSON.stringify(event)

  /** Starts a service whose processes know the old secret until they read it again. */
  async function startRotating(current: () => string) {
    const service = await startService()
    const reads: boolean[] = []
    service.runtime.secret = async (_name, _budget, { renew = false } = {}) => {
      reads.push(renew)
      return renew ? current() : webhookSecret
    }
    const send = (headers: Record<string, string>) => sendEvent(service, event, headers)
    return { send, reads }
  }

  test('is accepted at the first event that it signs', async () => {
    const { send } = await startRotating(() => `${next} ${webhookSecret}`)
    expect((await send(signed(body, { secret: next }))).status).toBe(202)
  })

  test('is not looked for while the known key fits', async () => {
    const { send, reads } = await startRotating(() => next)
    await send(signed(body))
    expect(reads).toEqual([false])
  })

  test('is not looked for by an event that is too old to be accepted', async () => {
    const { send, reads } = await startRotating(() => next)
    await send(signed(body, { secret: next, at: new Date(0) }))
    expect(reads).toEqual([false])
  })

  test('is refused if nobody stored it', async () => {
    const { send } = await startRotating(() => webhookSecret)
    expect((await send(signed(body, { secret: next }))).status).toBe(401)
  })

  test('that cannot be read is a failure that its sender repeats, and no failure of the service', async () => {
    const service = await startService()
    service.runtime.secret = async (_name, _budget, { renew = false } = {}) => {
      if (renew) throw fail('DEPENDENCY.unavailable')
      return webhookSecret
    }
    service.lines.length = 0
    const { status } = await sendEvent(service, event, signed(body, { secret: next }))
    expect(status).toBe(503)
    expect(service.lines).toMatchObject([{ causedByCaller: true }])
  })
})
