import { describe, expect, test } from '@jest/globals'
import { mailKey } from '#shared/otp/code-mail.ts'
import { handleMailEvent } from '#shared/otp/mail-event.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { newEmail, requestCode } from '#test/support/one-time-codes.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const service = await startService({ settings: { ...localSettings, 'otp.deliveredOn': 'delivery' } })

const logged: unknown[] = []
const context = (name: string) => ({
  table: declaredTable(name, service.table),
  clock: systemClock,
  log: { job: (line: unknown) => logged.push(line) },
})
const report = (type: string, id: string) =>
  handleMailEvent(JSON.stringify({ type, message_id: [id] }), context('otp.record-delivery'))

async function requested(): Promise<string> {
  const { json } = await requestCode(service, newEmail(), { from: crypto.randomUUID() })
  return json.message_id
}

async function send(id: string, how = async () => {}): Promise<void> {
  await sendCode(id, { ...service, ...context('otp.send'), derivedKey: service.runtime.derivedKey }, how)
}

const mailItem = async (id: string) => await service.table.get(mailKey(id))
const published = async (id: string) => {
  const [requested, ...others] = eventsOf((await mailItem(id)) as never).map(({ type }) => type)
  expect(requested).toBe('otp.requested')
  return others
}

describe('otp.delivered on the delivery event', () => {
  test('is not published when the mail service accepts the mail', async () => {
    const id = await requested()
    await send(id)
    expect([(await mailItem(id))?.state, await published(id)]).toEqual(['sent', []])
  })

  test('is published when the mail service reports the delivery', async () => {
    const id = await requested()
    await send(id)
    await report('Delivery', id)
    expect(await published(id)).toEqual(['otp.delivered'])
  })

  test('is published if the report arrives before the sender has recorded the mail as sent', async () => {
    const id = await requested()
    await send(id, () => report('Delivery', id))
    expect([(await mailItem(id))?.state, await published(id)]).toEqual(['delivered', ['otp.delivered']])
  })

  test('is published once for repeated reports', async () => {
    const id = await requested()
    await send(id)
    await report('Delivery', id)
    const before = await mailItem(id)
    await report('Delivery', id)
    expect(await mailItem(id)).toEqual(before)
  })

  test('is not published for an unknown message', async () => {
    const id = crypto.randomUUID()
    await report('Delivery', id)
    expect(await mailItem(id)).toBeUndefined()
  })
})

test('a bounce is logged without the address or the message', async () => {
  logged.length = 0
  const id = await requested()
  await report('Bounce', id)
  expect(logged).toEqual([{ code: 'MAIL_BOUNCED', done: 1, failed: 0 }])
})

test('a bounced mail is not published as delivered', async () => {
  const id = await requested()
  await send(id)
  await report('Bounce', id)
  expect(await published(id)).toEqual([])
})
