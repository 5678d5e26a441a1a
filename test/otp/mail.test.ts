import { UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { mailKey } from '#shared/otp/code-mail.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { KeyName } from '#shared/platform/base/secrets.ts'
import { bundleFunctions } from '#test/faults/function-process.ts'
import { documentClient, itemsOf } from '#test/support/dynamodb-client.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { mailOf, newEmail, requestCode, requestedCode, verifyCode } from '#test/support/one-time-codes.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'
import { testSecret } from '#test/support/test-keys.ts'
import { startFakeMailServices } from './fake-mail-services.ts'

/** The offset of the service's clock behind that of the sender. */
let behindMilliseconds = 0
const printed: string[] = []

const aws = await startFakeMailServices((arn) => testSecret(arn as KeyName))
const service = await startService({
  clock: { ...systemClock, now: () => Date.now() - behindMilliseconds },
  tableName: await createTable(),
})
const environment = {
  AWS_ENDPOINT_URL: aws.endpoint,
  AWS_ENDPOINT_URL_DYNAMODB: process.env.DYNAMODB_ENDPOINT ?? '',
  TABLE_NAME: service.tableName,
  MAILS_SECRET_ARN: 'mails',
  ONE_TIME_CODES_SECRET_ARN: 'one_time_codes',
  MAIL_QUEUE_URL: `${aws.endpoint}/queue/mail`,
}
const functions = await bundleFunctions({ send: 'otp/send-code' }, localSettings, environment, (text) =>
  printed.push(text),
)
const sender = await functions.start('send')
beforeEach(() => {
  Object.assign(aws, { behavior: 'taken', mails: [], attempts: 0, pauses: [] })
  behindMilliseconds = 0
})
afterAll(async () => {
  await functions.stop()
  await aws.stop()
})

/** Delivers a message of the queue. @returns whether it was handled */
async function deliver(messageId: string, process = sender): Promise<boolean> {
  const attributes = { ApproximateReceiveCount: '1' }
  const Records = [{ messageId: 'sqs', body: messageId, receiptHandle: 'r', attributes }]
  const { batchItemFailures } = await process.send({ Records })
  return batchItemFailures.length === 0
}

/** Delivers a message that is handled the first time, unless a busy machine is late: then again, as the queue does. */
async function deliverHandled(messageId: string, process = sender): Promise<void> {
  for (;;) {
    const begun = performance.now()
    if (await deliver(messageId, process)) return
    // The sender waits at least so long for what is late.
    if (performance.now() - begun < 1000) throw new Error('the message was not handled')
  }
}

const asked = async (email = newEmail(), from: string = crypto.randomUUID()) => {
  const { json } = await requestCode(service, email, { from })
  return { id: json.message_id as string, ...(await mailOf(service, json.message_id)) }
}
const kept = async (id: string) => service.table.get(mailKey(id))

describe('the mail of a code', () => {
  test('contains the code in the wording of the profile, goes only to its address, and is UTF-8', async () => {
    const { email, id, code } = await asked()
    await deliverHandled(id)
    expect(aws.mails).toEqual([
      {
        FromEmailAddress: 'no-reply@example.com',
        EmailTags: [{ Name: 'message_id', Value: id }],
        Destination: { ToAddresses: [email] },
        Content: {
          Simple: {
            Subject: { Data: 'Your sign-in code', Charset: 'UTF-8' },
            Body: { Text: { Data: `Your code is ${code}. It is valid for 5 minutes.`, Charset: 'UTF-8' } },
          },
        },
      },
    ])
  })

  test('is recorded with its event, and its content is deleted', async () => {
    const { id } = await asked()
    await deliverHandled(id)
    const item = await kept(id)
    expect(item).toMatchObject({ state: 'sent' })
    expect(item).not.toHaveProperty('sealed')
    expect(eventsOf(item as never)).toMatchObject([
      { type: 'otp.requested' },
      {
        type: 'otp.delivered',
        data: { id, tenant_id: 'public', user_id: item?.user_id, email_hash: item?.email_hash },
        correlation_id: item?.correlation_id,
      },
    ])
  })

  test('is sent once for repeated deliveries of its message', async () => {
    const { id } = await asked()
    const other = await functions.start('send')
    await Promise.all([deliver(id), deliver(id, other)])
    for (let n = 0; n < 3; n += 1) await deliverHandled(id, n % 2 ? sender : other)
    await other.kill()
    expect(aws.mails).toHaveLength(1)
  })

  test('stays queued while SES is down, and its message is delayed', async () => {
    const { id } = await asked()
    aws.behavior = 'refused'
    for (let n = 0; n < 3; n += 1) expect(await deliver(id)).toBe(false)
    expect(aws.pauses).toHaveLength(3)
    for (const pause of aws.pauses) expect(pause).toBeGreaterThan(0)
    expect(await kept(id)).toMatchObject({ state: 'queued' })
    aws.behavior = 'taken'
    await deliverHandled(id)
    expect(aws.mails).toHaveLength(1)
    expect(await kept(id)).toMatchObject({ state: 'sent' })
  })

  test('stays queued while SES does not respond', async () => {
    const { id } = await asked()
    aws.behavior = 'ignored'
    expect(await deliver(id)).toBe(false)
    // The time limit of one attempt is thus that of the delivery.
    expect(aws.attempts).toBe(1)
    aws.behavior = 'taken'
    await deliverHandled(id)
    expect(aws.mails).toHaveLength(1)
  })

  test('whose response is lost is sent again with the same code, because nobody knows whether it was accepted', async () => {
    const { id, code } = await asked()
    aws.behavior = 'taken-and-lost'
    expect(await deliver(id)).toBe(false)
    aws.behavior = 'taken'
    await deliverHandled(id)
    await deliverHandled(id)
    const texts = aws.mails.map(({ Content }) => Content.Simple.Body.Text.Data)
    expect(texts).toEqual([expect.stringContaining(code), expect.stringContaining(code)])
  })

  test('is sent by another process after the lease of one that was killed before it recorded the mail', async () => {
    const { id } = await asked()
    aws.behavior = 'taken-and-held'
    const target = await functions.start('send')
    const taken = aws.nextMail()
    void deliver(id, target).catch(() => undefined)
    await taken
    await target.kill()
    aws.behavior = 'taken'
    // However slow the machine is, the lease still holds.
    await moveLease(Date.now() + 3_600_000)
    expect(await deliver(id)).toBe(false)
    expect(aws.mails).toHaveLength(1)
    await moveLease(Date.now() - 1)
    await deliverHandled(id)
    expect(aws.mails).toHaveLength(2)
    expect(await kept(id)).toMatchObject({ state: 'sent' })
  })

  test('is sent for each source that requests the same code', async () => {
    const email = newEmail()
    const mails = [await asked(email), await asked(email)] as const
    for (const { id } of mails) await deliverHandled(id)
    const texts = aws.mails.map(({ Content }) => Content.Simple.Body.Text.Data)
    expect(texts).toEqual(Array(2).fill(expect.stringContaining(mails[0].code)))
  })

  test('is not sent if its code was superseded, used or expired', async () => {
    const [email, source] = [newEmail(), crypto.randomUUID()]
    const first = await asked(email, source)
    const second = await asked(email, source)
    await deliverHandled(first.id)
    expect(aws.mails).toEqual([])
    await verifyCode(service, email, second.code)
    await deliverHandled(second.id)
    behindMilliseconds = 5 * 60_000 + 1000
    const late = await asked()
    await deliverHandled(late.id)
    expect(aws.mails).toEqual([])
  })

  test('to an address that SES does not accept is not sent, and not retried', async () => {
    const { id } = await asked(`jürgen-${newEmail()}`)
    await deliverHandled(id)
    expect(aws.mails).toEqual([])
  })

  test('of an unknown code is done', async () => {
    await deliverHandled(crypto.randomUUID())
    expect(aws.mails).toEqual([])
  })
})

test('neither the logs of the sender nor its records contain an address or a code', async () => {
  await requestedCode(service, 'canary-of-mails@example.com')
  expect(printed.join('')).toContain('MAIL_NOT_SENT')
  expect(printed.join('')).not.toMatch(/@example|Your code|canary|"code":"\d/)
  expect(JSON.stringify(await itemsOf(service.tableName))).not.toMatch(/@example|canary|Your code/)
})

/** Sets the end of the only lease, in milliseconds since 1970. */
async function moveLease(end: number): Promise<void> {
  const items = await itemsOf(service.tableName)
  const leased = items.filter(({ pk, status }) => pk === 'once#mail' && status === 'INPROGRESS')
  expect(leased).toHaveLength(1)
  for (const { pk, sk } of leased) {
    await documentClient().send(
      new UpdateCommand({
        TableName: service.tableName,
        Key: { pk, sk },
        UpdateExpression: 'SET in_progress_expiration = :end',
        ExpressionAttributeValues: { ':end': end },
      }),
    )
  }
}
