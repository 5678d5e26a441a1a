import { describe, expect, test } from '@jest/globals'
import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { sendReset } from '#shared/login/password-reset.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'

import { clientId, userPoolId } from '#test/support/identity-provider/cognito-users.ts'
import { providerOfTest } from '#test/support/identity-provider/provider-of-test.ts'
import { startService } from '#test/support/service.ts'

const provider = await providerOfTest()
const service = await startService()

const ask = (email: string, headers: Record<string, string> = {}) =>
  service.call({ method: 'POST', path: '/password/reset', headers, body: { email } })
const requests = () => service.items('public', 'password_reset')
/** Delivers a task like the queue. */
const send = (id: string, now = Date.now()) =>
  sendReset(id, cognitoProvider({ userPoolId, clientId }, service.settings), {
    table: declaredTable('login.send-reset', service.table),
    budget: startBudget(systemClock, 5000),
    settings: service.settings,
    derivedKey: service.runtime.derivedKey,
    now: () => now,
  })

describe('POST /password/reset', () => {
  test('responds before it looks the e-mail up, equally for all', async () => {
    const answers = []
    for (const email of ['jane@reset.example', 'unknown-1@reset.example', 'disabled-1@reset.example']) {
      const before = (await requests()).map(({ sk }) => sk)
      const { status, headers, json } = await ask(email, { 'X-Correlation-Id': 'same' })
      const made = (await requests()).find(({ sk }) => !before.includes(sk))
      const { message_id, ...rest } = json
      const shape = {
        ...made,
        pk: '',
        sk: '',
        sealed_email: '',
        task: { ...(made?.task as object), body: '' },
      }
      answers.push({ status, headers, rest, sameId: made?.sk === message_id, shape, expires_at: 0 })
    }
    const [known, ...others] = answers.map(({ shape, ...answer }) => ({
      ...answer,
      shape: { ...shape, expires_at: 0 },
    }))
    expect(known).toMatchObject({ status: 202, rest: {}, sameId: true })
    for (const other of others) expect(other).toEqual(known)
    expect(provider.calls).toEqual([])
  })

  test('sends one mail for repeated deliveries of its task', async () => {
    const { json } = await ask('Jane@Mail.example')
    const [task] = (await requests()).filter(({ sk }) => sk === json.message_id).map(({ task }) => task)
    expect(task).toEqual({ queue: 'password_resets', body: json.message_id, group: 'public' })
    expect([await send(json.message_id), await send(json.message_id)]).toEqual(['sent', 'expired'])
    expect(provider.mailed).toEqual(['jane@mail.example'])
    expect((await requests()).map(({ sk }) => sk)).not.toContain(json.message_id)
  })

  test('of an unknown e-mail ends without a mail and without an error', async () => {
    const { json } = await ask('unknown-2@mail.example')
    expect(await send(json.message_id)).toBe('sent')
    expect(provider.mailed).toEqual([])
  })

  test.each(['reset', { status: 400, body: { __type: 'TooManyRequestsException' } }] as const)(
    'that fails temporarily (%j) is kept and delivered again by the queue',
    async (fault) => {
      const { json } = await ask('late@mail.example')
      provider.faults = () => fault
      await expect(send(json.message_id)).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
      provider.faults = () => undefined
      expect(await send(json.message_id)).toBe('sent')
      expect(provider.mailed).toEqual(['late@mail.example'])
    },
  )

  test('that is delivered an hour late is not sent', async () => {
    const { json } = await ask('forgotten@mail.example')
    expect(await send(json.message_id, Date.now() + 3_601_000)).toBe('expired')
    expect(provider.calls).toEqual([])
  })

  test('stores a task that cannot be read, or moved to another request, without the key of resets', async () => {
    const [one, other] = [await ask('one@seal.example'), await ask('other@seal.example')]
    const items = await requests()
    const sealedOf = ({ json }: typeof one) =>
      items.find(({ sk }) => sk === json.message_id)?.sealed_email as string
    const itemOf = items.find(({ sk }) => sk === one.json.message_id)
    if (!itemOf) throw new Error('the request is gone')
    await service.table.put({ item: { ...itemOf, sealed_email: sealedOf(other) }, condition: 'none' })
    await expect(send(one.json.message_id)).rejects.toThrow()
    expect(JSON.stringify(await itemsOf(service.tableName))).not.toMatch(/seal\.example/)
  })

  test('with a key is executed once', async () => {
    const headers = { 'Idempotency-Key': 'reset-once' }
    const [first, again] = [
      await ask('keyed@mail.example', headers),
      await ask('keyed@mail.example', headers),
    ]
    expect([again.body, again.headers['Idempotency-Status']]).toEqual([first.body, 'replayed'])
  })
})
