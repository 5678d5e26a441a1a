import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import { register, type SettingKey } from '#shared/settings/register.ts'

const root = join(import.meta.dirname, '../..')

/** Returns the text of the TypeScript files in folders, including uncommitted and excluding deleted files. */
function textOf(...places: string[]): string {
  const listing = ['ls-files', '-co', '--exclude-standard', ...places]
  const files = execFileSync('git', listing, { cwd: root, encoding: 'utf8' }).split('\n')
  return files
    .filter((file) => file.endsWith('.ts') && !file.startsWith('shared/settings/'))
    .map((file) => join(root, file))
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
}

const code = textOf('shared', 'functions', 'lib', 'bin')
const tests = textOf(
  'test/settings/changes.test.ts',
  'test/settings/code-changes.test.ts',
  'test/settings/code-call-changes.test.ts',
  'test/settings/money-changes.test.ts',
  'test/settings/identity-changes.test.ts',
  'test/settings/idempotency-changes.test.ts',
  'test/settings/login-changes.test.ts',
  'test/settings/import-changes.test.ts',
  'test/settings/versioning-changes.test.ts',
  'test/settings/gateway-changes.test.ts',
  'test/infrastructure',
  'test/faults',
)
const keys = Object.keys(register) as SettingKey[]
const valid = JSON.parse(readFileSync(join(root, 'shared/settings/profiles/local.json'), 'utf8'))
valid['auth.issuers'][0].keys = { jwks_uri: 'https://issuer.example/keys' }

/** These settings have only one value, which the code implements without reading it. */
const structural: SettingKey[] = ['audit.read', 'lists.or', 'events.payloads']

describe('the register', () => {
  test.each(keys)('contains %s, which the code reads and a test with another value names', (key) => {
    if (structural.includes(key)) return
    expect(code).toContain(`['${key}']`)
    expect(tests).toContain(key)
  })

  test.each(keys)('contains a description of %s', (key) => {
    expect(register[key].description).toMatch(/^[A-Z].{9,}[^.]$/)
  })
})

describe('a profile', () => {
  test('with a value for every setting is accepted', () => {
    expect(Object.keys(readProfile(valid, 'p.json')).sort()).toEqual([...keys].sort())
  })

  test.each(keys)('without %s is rejected with a clear message, because nothing has a default', (key) => {
    const { [key]: _, ...rest } = valid
    expect(() => readProfile(rest, 'p.json')).toThrow(new RegExp(`${key.replaceAll('.', '\\.')}: missing`))
  })

  test('is rejected with all its errors together', () => {
    const { 'auth.roleClaim': _, ...rest } = valid
    const wrong = { ...rest, 'idempotency.lifetimeHours': 12, 'auth.crossTenantStatus': 200, colour: 'red' }
    let message = ''
    try {
      readProfile(wrong, 'p.json')
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ProfileError)
      message = (thrown as Error).message
    }
    expect(message.split('\n')[0]).toBe('p.json: 4 setting(s) to fix:')
    for (const key of ['auth.roleClaim', 'idempotency.lifetimeHours', 'auth.crossTenantStatus', 'colour'])
      expect(message).toContain(`  ${key}`)
  })

  test('with a bulk update that is too small for its maximum number of items is rejected', () => {
    const tight = { ...valid['codes.bulkUpdate'], maxItems: 1000, maxBytes: 1_000_000 }
    expect(() => readProfile({ ...valid, 'codes.bulkUpdate': tight }, 'p.json')).toThrow(
      /codes\.bulkUpdate: maxBytes must hold maxItems/,
    )
  })

  const twice = [
    { by: 'source', times: 1 },
    { by: 'source', times: 5 },
  ]
  test.each([
    ['login.countBy', twice, /login\.countBy: each kind may be named only once/],
    ['passwordReset.countBy', twice, /passwordReset\.countBy: each kind may be named only once/],
    ['login.countBy', [{ by: 'source', times: 101 }], /login\.countBy at 0\.times/],
    [
      'limits.other',
      { 'orders.list': { limit: 5001, windowSeconds: 1, per: 'principal' } },
      /limits\.other at/,
    ],
    ['otp.sourceThrottle', { requests: 5001, wrongAttempts: 1, windowSeconds: 1 }, /otp\.sourceThrottle at/],
    ['otp.dailyWrongAttempts', { limit: 1001, knownSourceDays: 1 }, /otp\.dailyWrongAttempts at limit/],
  ])('with an uncountable %s, such as %j, is rejected', (key, value, message) => {
    expect(() => readProfile({ ...valid, [key]: value }, 'p.json')).toThrow(message)
  })

  test.each([null, [], 'text'])('that is %j is rejected', (profile) => {
    expect(() => readProfile(profile, 'p.json')).toThrow(ProfileError)
  })
})
