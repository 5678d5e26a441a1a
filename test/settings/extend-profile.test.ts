import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { loadSettings } from '#bin/build/settings-file.ts'
import { checkProfile } from '#bin/commands/deployment/check-profile.ts'
import { extendProfile } from '#shared/settings/extend-profile.ts'
import { announcedStatuses, type OrderMove } from '#shared/settings/order-moves.ts'
import { bases, ProfileError, readBase, resolveProfile } from '#shared/settings/read-profile.ts'
import { register, type SettingKey, type Settings } from '#shared/settings/register.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

const root = join(import.meta.dirname, '../..')
const extended = (own: object) => resolveProfile({ extends: 'base-1', ...own }, 'p.json')
const base = readBase('base-1') as Record<SettingKey, Record<string, unknown>>

describe('a profile that extends a base', () => {
  test('has the values of the base', () => {
    expect(extended({})).toEqual(base)
  })

  test('changes members of an object, at any depth, and keeps the others', () => {
    const { 'imports.maxBytes': sizes, 'limits.webAcl': acl } = extended({
      'imports.maxBytes': { inline: 1000 },
      'limits.webAcl': { captcha: { tokenDomains: ['shop.acme.cloud'] } },
    })
    expect(sizes).toEqual({ ...base['imports.maxBytes'], inline: 1000 })
    expect(acl).toEqual({
      ...base['limits.webAcl'],
      captcha: { ...(base['limits.webAcl'].captcha as object), tokenDomains: ['shop.acme.cloud'] },
    })
  })

  test('replaces a list', () => {
    expect(extended({ 'orders.currencies': ['EUR'] })['orders.currencies']).toEqual(['EUR'])
  })

  test('replaces a map whose keys a deployment chooses', () => {
    const types = {
      half: { kind: 'percentage', rule_id: 'half', value: 50, combinable_with_gift_card: false },
    }
    expect(extended({ 'codes.types': types })['codes.types']).toEqual(types)
  })

  test.each([null, 'base-2', 'constructor', '../base-1'])('of the name %j is refused', (name) => {
    const thrown = thrownBy(() => resolveProfile({ extends: name }, 'p.json'))
    expect(thrown).toBeInstanceOf(ProfileError)
    expect(String(thrown)).toContain('base-1')
  })

  test('has no key __proto__ of JSON as its prototype', () => {
    const own = JSON.parse('{"extends":"base-1","imports.maxBytes":{"__proto__":{"inline":1}}}')
    expect(Object.getPrototypeOf(resolveProfile(own, 'p.json')['imports.maxBytes'])).toBe(Object.prototype)
  })
})

describe('base-1', () => {
  test('answers every setting of the API and every limit', () => {
    const open = Object.entries(register).filter(([, { kind }]) => kind !== 'deployment')
    expect(open.map(([key]) => key).filter((key) => !Object.hasOwn(base, key))).toEqual([])
  })

  test('has no value that a stage refuses: a profile of dev adds account and region only', async () => {
    const file = join(root, 'docs/examples/profile-dev.json')
    const { $schema: _, ...own } = JSON.parse(readFileSync(file, 'utf8'))
    expect(Object.keys(own)).toEqual(['extends', 'aws.environment'])
    await expect(loadSettings(file, 'dev')).resolves.toBeDefined()
  })

  test.each(['staging', 'prod'])('is enough for the example on the stage %s', async (stage) => {
    const settings = await loadSettings(join(root, 'docs/examples/profile-prod.json'), stage)
    expect(Object.keys(settings).sort()).toEqual(Object.keys(register).sort())
  })
})

type Statuses = Settings['orders.statuses']

/**
 * Returns the statuses of a base without those that only an event that is new gives to an order: they change no answer,
 * whether they were listed before or not.
 */
function withoutNewStatuses({ all, first, transitions }: Statuses, released: Statuses): Statuses {
  const moves = Object.entries(announcedStatuses)
  const given = (isReleased: boolean) =>
    moves.filter(([type]) => type in released.transitions === isReleased).map(([, to]): string => to)
  const former = [released.first, ...given(true)]
  const isNew = (status: string) => given(false).includes(status) && !former.includes(status)
  const without = (now: readonly string[], before: readonly string[] = now) =>
    now.filter((status) => !isNew(status) || before.includes(status))
  const from = Object.entries(transitions).map(([type, move]) => {
    const before = released.transitions[type as OrderMove]
    return [type, { from: without(move.from, before?.from) }]
  })
  return { all: without(all, released.all), first, transitions: Object.fromEntries(from) }
}

describe('a released base', () => {
  const [scopes, statuses] = ['auth.operationScopes', 'orders.statuses'] as const

  test.each(bases)('%s keeps the answers that it has had', (name) => {
    const released = JSON.parse(readFileSync(join(import.meta.dirname, `released/${name}.json`), 'utf8'))
    const today = readBase(name)
    // The scope of an operation that is new changes no answer.
    const later = Object.entries(today[scopes] as object).filter(
      ([operation]) => !(operation in released[scopes]),
    )
    const known = {
      ...today,
      [statuses]: withoutNewStatuses(today[statuses] as Statuses, released[statuses]),
    }
    const expected = { ...released, [scopes]: { ...released[scopes], ...Object.fromEntries(later) } }
    expect(extendProfile(known, expected, register)).toEqual(known)
  })
})

describe('the schema for editors', () => {
  const schema = JSON.parse(readFileSync(join(root, 'shared/settings/profile.schema.json'), 'utf8'))
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(schema)
  const errorsOf = (profile: object) => (validate(profile) ? [] : validate.errors)

  test.each([
    'docs/examples/profile-dev.json',
    'docs/examples/profile-prod.json',
    'shared/settings/base-1.json',
  ])('accepts %s', (file) => {
    expect(errorsOf(JSON.parse(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  test.each([
    { 'orders.color': 'red' },
    { 'orders.createStatus': 204 },
    { 'imports.maxBytes': { colour: 1 } },
  ])('refuses %j', (profile) => {
    expect(errorsOf(profile)).not.toEqual([])
  })
})

test.each(['dev', 'prod'])('the example of %s finds the schema once it is copied to profiles/', (stage) => {
  const file = join(root, `docs/examples/profile-${stage}.json`)
  const { $schema } = JSON.parse(readFileSync(file, 'utf8'))
  expect(existsSync(join(root, 'profiles', $schema))).toBe(true)
})

describe('profile check', () => {
  const check = async (own: object, stage = 'prod') => {
    const folder = await mkdtemp(join(tmpdir(), 'profile-'))
    const file = join(folder, 'p.json')
    await writeFile(file, JSON.stringify({ extends: 'base-1', ...own }))
    return checkProfile(file, stage).finally(() => rm(folder, { recursive: true }))
  }
  const environment = { 'aws.environment': { account: '111122223333', region: 'eu-west-1' } }

  test('lists what equals the base, and what the base answers', async () => {
    const own = {
      'orders.gone': base['orders.gone'],
      'imports.maxBytes': { fileUrl: base['imports.maxBytes'].fileUrl },
      'otp.user': 'uuid',
    }
    const { decided, same_as_base, left_to_base, open_points } = await check({ ...environment, ...own })
    expect({ decided, same_as_base }).toEqual({
      decided: 4,
      same_as_base: ['orders.gone', 'imports.maxBytes'],
    })
    expect(left_to_base).toEqual(expect.arrayContaining(['api.domain', 'mail.sender']))
    expect(left_to_base).not.toContain('aws.environment')
    expect(open_points).toContain('orders.statuses')
    expect(open_points).not.toContain('otp.user')
  })

  test.each(['dev', 'prod'])(
    'names the settings of the example of %s that are to be replaced',
    async (stage) => {
      const { placeholders, decided } = await checkProfile(`docs/examples/profile-${stage}.json`, stage)
      expect(placeholders).toHaveLength(decided)
      const own = { 'aws.environment': { account: '222233334444', region: 'eu-west-1' } }
      expect((await check(own, stage)).placeholders).toEqual([])
    },
  )

  const toDecide = async (own: object, stage?: string) => {
    const { to_decide } = await check({ ...environment, ...own }, stage)
    return to_decide.map(({ setting }) => setting)
  }

  test('names what a minimal profile leaves to decide for a stage with customers', async () => {
    const all = await toDecide({})
    expect(all).toEqual(expect.arrayContaining(['auth.issuers', 'mail.sender', 'api.domain', 'codes.types']))
    expect(await toDecide({}, 'staging')).toEqual(all)
    expect(await toDecide({}, 'dev')).toEqual([])
    const decided = {
      'cors.allowedOrigins': ['https://shop.acme.cloud'],
      'limits.webAcl': { captcha: { tokenDomains: ['shop.acme.cloud'] } },
      'mail.sender': {
        from: 'no-reply@acme.cloud',
        domain: { identity: 'acme.cloud', mailFrom: 'bounce.acme.cloud', verified: true },
      },
      'codes.types': {},
    }
    expect(await toDecide(decided)).toEqual(['auth.issuers', 'api.domain', 'storage.backups'])
  })

  test.each([
    ['111122223333', true],
    ['444455556666', false],
  ])('with copies of backups in account %s', async (account, isOpen) => {
    const vaultArn = `arn:aws:backup:eu-central-1:${account}:backup-vault:copies`
    const own = { 'storage.backups': { copies: [{ vaultArn, keptDays: 35 }] } }
    expect((await toDecide(own)).includes('storage.backups')).toBe(isOpen)
  })

  test('says first that a profile extends no base, and not that another one lacks a setting', async () => {
    const first = await check({ extends: undefined }).catch(String)
    expect(String(first).split('\n')[0]).toContain('"extends": "base-1"')
    await expect(check({})).rejects.not.toThrow('extends')
  })

  test.each([
    [{}, 'aws.environment: missing'],
    [{ 'aws.environment': { acount: '111122223333' } }, 'aws.environment at acount: unknown member'],
    [{ ...environment, 'auth.mfa': { operations: ['orders.sell'] } }, 'there is no operation orders.sell'],
    [{ ...environment, 'limits.concurrency': 10 }, 'limits.concurrency'],
    [{ ...environment, 'orders.color': 'red' }, 'orders.color: unknown setting'],
  ])('refuses %j', async (own, message) => {
    await expect(check(own)).rejects.toThrow(message)
  })
})
