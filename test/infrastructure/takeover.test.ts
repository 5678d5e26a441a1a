import type { KeyObject } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { pascalCase } from '#lib/functions/function-names.ts'
import { digitsOf } from '#shared/otp/code-digits.ts'
import { findMail, mailKey, openMail, sealMail } from '#shared/otp/code-mail.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import type { Mail } from '#shared/platform/aws/ses.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { type KeyName, keyDerivation, keyedHash, keyNames, unseal } from '#shared/platform/base/secrets.ts'
import { sessionSecret } from '#shared/platform/identity/session.ts'
import { cursorSeal } from '#shared/platform/listing/cursor.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { put } from '#shared/platform/table/table.ts'
import { sealSecret } from '#shared/subscribers/signing-secret.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import {
  cookiesOf,
  mailOf,
  newEmail,
  requestCode,
  requestedCode,
  sessionHeaders,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { testSecret } from '#test/support/test-keys.ts'
import { declaredUses } from './declared-uses.ts'
import { allows, policyOf, readableSecrets, statementsOnTable } from './role-policies.ts'
import { templatesOf } from './synthesis.ts'

/** What the role of a function can read. */
interface Loot {
  /** Every key that can be derived from its secrets. */
  keys: KeyObject[]
  /** All texts in its items of the table, and the ids that anybody knows. */
  texts: string[]
}

const { template, settings } = await templatesOf('prod')
// No result of the many keys that are tried is such a long code by chance.
const service = await startService({
  settings: { ...localSettings, 'otp.code': { digits: 10, maxAttempts: 5 } },
})
const { table, runtime } = service
const { randomBytes } = systemClock

const victim = newEmail()
const { message_id } = (await requestCode(service, victim)).json
const { code } = await mailOf(service, message_id)

const user = newEmail()
const login = [user, await requestedCode(service, user)]
const verified = await verifyCode(service, user, login[1] ?? '')
const cookie = cookiesOf(verified)['__Host-session']?.split('.')[1]

const reset = await service.call({ method: 'POST', path: '/password/reset', body: { email: victim } })

const position = { direction: 'next', start: 'a', bound: undefined, snapshotBound: 'z', skip: 0 } as const
const cursor = cursorSeal(await runtime.derivedKey('cursors'), randomBytes).seal(position, 'session')

const signing = 'whsec_of_a_subscriber'
const owner = subscriberOf()
const budget = startBudget(systemClock, 60_000)
const sealed = await sealSecret(signing, owner, {
  clock: systemClock,
  versionedKey: (name) => runtime.versionedKey(name, budget),
})
await table.transact([put({ pk: 'subscriber#acme#0', sk: owner.id, sealed })])

const known = [message_id, verified.json.session_id, reset.json.message_id, cursor].map(String)
const items = await itemsOf(service.tableName)
const roles = Array.from(declaredUses(settings).keys(), (name) => [name, lootOf(name)] as const)

function lootOf(name: string): Loot {
  const secrets = readableSecrets(template, name)
  const deriveKey = keyDerivation()
  const ofKeys = keyNames.filter((one) => secrets.includes(`${pascalCase(one)}Secret`))
  const keys = ofKeys.flatMap((secret) => keyNames.map((as) => deriveKey(testSecret(secret), as)))
  const statements = statementsOnTable(template, name)
  const reads = ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query']
  const read = items.filter(({ pk }) => reads.some((action) => allows(statements, action, [pk])))
  return { keys, texts: [...known, ...textsIn(readsStream(name) ? items : read)] }
}

/** Returns whether the role of a function can read the stream, which holds each item that was written. */
function readsStream(name: string): boolean {
  return policyOf(template, name).Statement.some(({ Action }) =>
    [Action].flat().includes('dynamodb:GetRecords'),
  )
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const opens = (open: () => string, text: string) => {
  try {
    return open().includes(text)
  } catch {
    return false
  }
}

/** Each attack, and the functions with whose roles it succeeds: only those whose work it is. */
const attacks: [string, string[], (key: KeyObject, text: string) => boolean][] = [
  [
    'compute the digits of an open code',
    ['otp.send', 'otp.verify'],
    (key, salt) => digitsOf(key, { email: victim, salt }, code.length) === code,
  ],
  [
    'compute the cookie of a session',
    ['otp.verify'],
    (key, session_id) => sessionSecret(key, { session_id, login }) === cookie,
  ],
  [
    'read the address of a queued mail',
    ['otp.send'],
    (key, text) => opens(() => openMail(key, message_id, text).email, victim),
  ],
  [
    'read the address of a queued reset',
    ['login.send-reset'],
    (key, text) => opens(() => unseal(key, text, reset.json.message_id), victim),
  ],
  [
    'open a cursor, and so forge one',
    ['codes.list', 'orders.list'],
    (key, text) => opens(() => cursorSeal(key, randomBytes).open(text, 'session').start, 'a'),
  ],
  [
    'sign as the service does for a subscriber',
    ['deliveries.send'],
    (key, text) => opens(() => unseal(key, text.split('.').at(-1) ?? '', `acme/${owner.id}`), signing),
  ],
]

test.each(attacks)('%s: only the roles of %j can', (_, expected, attack) => {
  const able = roles.filter(([, { keys, texts }]) =>
    keys.some((key) => texts.some((one) => attack(key, one))),
  )
  expect(able.map(([name]) => name).sort()).toEqual(expected)
})

test('the roles that read the stream reach each item and no key', () => {
  const readers = roles.filter(([name]) => readsStream(name))
  expect(readers).not.toEqual([])
  const everything = textsIn(items)
  for (const [, { keys, texts }] of readers) {
    expect(keys).toEqual([])
    expect(texts).toEqual(expect.arrayContaining(everything))
  }
})

test('neither the key of one-time codes nor the salt alone gives the digits', () => {
  const deriveKey = keyDerivation()
  const keysOf = (names: readonly KeyName[]) =>
    names.flatMap((secret) => keyNames.map((as) => deriveKey(testSecret(secret), as)))
  const gives = (keys: KeyObject[], texts: string[]) =>
    keys.some((key) => texts.some((salt) => digitsOf(key, { email: victim, salt }, code.length) === code))
  const others = keyNames.filter((name) => name !== 'one_time_codes')
  const withoutCodes = textsIn(items.filter(({ pk }) => !pk.startsWith('otp#')))
  expect(gives(keysOf(['one_time_codes']), textsIn(items))).toBe(true)
  expect(gives(keysOf(['one_time_codes']), [...known, ...withoutCodes])).toBe(false)
  expect(gives(keysOf(others), textsIn(items))).toBe(false)
})

test('only the roles that hash addresses can tell whose an item of a person is', async () => {
  const { email_hash } = (await findMail(table, message_id)) ?? {}
  const able = roles.filter(([, { keys }]) =>
    keys.some((key) => keyedHash(key, 'e-mail', victim) === email_hash),
  )
  expect(able.map(([name]) => name).sort()).toEqual([
    'discount.verify',
    'login.reset-password',
    'login.sign-in',
    'otp.request',
    'otp.verify',
  ])
})

test('the role that requests codes cannot have the code of another mailed to itself', async () => {
  const attacker = newEmail()
  const { sealed: _, ...mail } = (await findMail(table, message_id)) ?? {}
  const redirected = sealMail(await runtime.derivedKey('mails'), message_id, { email: attacker }, randomBytes)
  await table.transact([put({ ...mail, ...mailKey(message_id), sealed: redirected } as Item)])
  const mails: Mail[] = []
  const context = { table, clock: systemClock, settings: service.settings, derivedKey: runtime.derivedKey }
  await sendCode(message_id, context, async (_, sent) => void mails.push(sent))
  const [{ to, text } = { to: '', text: '' }] = mails
  const mailed = /\d{6,}/.exec(text)?.[0] ?? ''
  expect([to, mailed.length]).toEqual([attacker, code.length])
  expect(outcome(await verifyCode(service, victim, mailed))).toBe('400 CODE.invalid')
  expect(outcome(await verifyCode(service, victim, code))).toBe('200')
})

test('a role that can forge the record of a login gets no cookie for a session that it knows by its id', async () => {
  const how = { headers: { 'Idempotency-Key': 'forged' } }
  await verifyCode(service, user, 'wrong', how)
  const records = (await itemsOf(service.tableName)).filter(({ pk }) => pk.startsWith('idempotency#'))
  const body = JSON.stringify({ session_id: verified.json.session_id })
  expect(records).toHaveLength(1)
  await table.transact([put({ ...records[0], state: 'complete', status: 200, body } as Item)])
  const replayed = await verifyCode(service, user, 'wrong', how)
  expect([outcome(replayed), replayed.json]).toEqual(['200', { session_id: verified.json.session_id }])
  const discount = (answer: typeof verified, key: string) => {
    const headers = { ...sessionHeaders(service, answer), 'Idempotency-Key': key }
    return service.call({ method: 'POST', path: '/discount/verify', headers, body: { code: 'X' } })
  }
  expect(outcome(await discount(verified, 'a'))).toBe('200')
  expect(outcome(await discount(replayed, 'b'))).toBe('401 AUTH.invalid_credentials')
})
