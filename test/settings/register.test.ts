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
  'test/settings',
  ':!test/settings/register.test.ts',
  'test/infrastructure',
  'test/faults',
)
const keys = Object.keys(register) as SettingKey[]
const valid = JSON.parse(readFileSync(join(root, 'shared/settings/profiles/local.json'), 'utf8'))
valid['auth.issuers'][0].keys = { jwks_uri: 'https://issuer.example/keys' }

const other = JSON.parse(readFileSync(join(root, 'test/support/profiles/other.json'), 'utf8'))

/** The members of a schema that contain others, or a choice. */
interface Part {
  type?: string
  options?: unknown[]
  entries?: Record<string, Part>
  item?: Part
  value?: Part
  wrapped?: Part
}

/** Returns the parts of a setting that every profile gives the same value: a choice of one, or a fixed text. */
function fixedParts({ type, options, entries = {}, item, value, wrapped }: Part, path: string): string[] {
  if (type === 'literal' || (type === 'picklist' && options?.length === 1)) return [path]
  // A list of one choice is a switch: it holds the choice or is empty.
  if (item?.type === 'picklist') return []
  const inner = Object.entries(entries).flatMap(([name, part]) => fixedParts(part, `${path}.${name}`))
  return [...inner, ...[item, value, wrapped].flatMap((part) => (part ? fixedParts(part, path) : []))]
}

/** Returns the message with which a profile is rejected. */
function messageOf(read: () => unknown): string {
  try {
    read()
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ProfileError)
    return (thrown as Error).message
  }
  return ''
}

describe('the register', () => {
  test.each(keys)('contains %s, which the code reads and a test with another value names', (key) => {
    expect(code).toContain(`['${key}']`)
    expect(tests).toContain(key)
  })

  test.each(keys)(
    'leaves a choice in each part of %s, and the tests have a profile with another one',
    (key) => {
      expect(fixedParts(register[key].schema as Part, key)).toEqual([])
      expect(other[key]).not.toEqual(valid[key])
    },
  )

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
    const message = messageOf(() => readProfile(wrong, 'p.json'))
    expect(message.split('\n')[0]).toBe('p.json: 4 problem(s) to fix:')
    for (const key of ['auth.roleClaim', 'idempotency.lifetimeHours', 'auth.crossTenantStatus', 'colour'])
      expect(message).toContain(`  ${key}`)
  })

  test('with more shards for writes than for reads is rejected, because lists would miss new items', () => {
    const shards = { default: { writes: 1, reads: 1 }, tenants: { large: { writes: 4, reads: 2 } } }
    expect(() => readProfile({ ...valid, 'storage.shards': shards }, 'p.json')).toThrow(
      /storage\.shards at tenants\.large: writes is above reads/,
    )
  })

  test('with one account for two tenants is rejected, because refunds could not be told apart', () => {
    const shared = { accounts: { one: 'acct_1', other: 'acct_1' } }
    expect(() => readProfile({ ...valid, 'refunds.account': shared }, 'p.json')).toThrow(
      /refunds\.account at accounts: Two tenants have the same account/,
    )
  })

  test.each([
    [
      { 'order.created': 'resource', 'order.paid': 'resource', 'order.placed': 'resource' },
      [
        'events.payloads at refund.succeeded: say id_and_tenant or resource for this event.',
        'events.payloads at order.placed: it decides order.created, order.paid, refund.succeeded only.',
      ],
    ],
    [
      { 'order.created': 'resource', 'order.paid': 'resource', 'refund.succeeded': 'all' },
      ['events.payloads at refund.succeeded: say id_and_tenant or resource for this event.'],
    ],
  ])('with the payloads %j is rejected with what to say', (payloads, messages) => {
    const changed = { ...valid, 'events.payloads': payloads }
    const lines = messageOf(() => readProfile(changed, 'p.json'))
      .split('\n')
      .slice(1)
    expect(lines.map((line) => line.trim().replace(/(?<=\.) .*/, ''))).toEqual(messages)
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
      { 'orders.list': [{ limit: 5001, windowSeconds: 1, per: 'principal', counts: 'requests' }] },
      /limits\.other at/,
    ],
    [
      'limits.other',
      {
        'orders.list': [1, 2].map((limit) => {
          return { limit, windowSeconds: 1, per: 'principal', counts: 'requests' }
        }),
      },
      /limits\.other at orders\.list: two limits have the same per, counts and windowSeconds/,
    ],
    ['otp.sourceThrottle', { requests: 5001, wrongAttempts: 1, windowSeconds: 1 }, /otp\.sourceThrottle at/],
    ['otp.dailyWrongAttempts', { limit: 1001, knownSourceDays: 1 }, /otp\.dailyWrongAttempts at limit/],
    ['otp.mailsPerAddress', { limit: 101, windowSeconds: 300 }, /otp\.mailsPerAddress at limit/],
    ['otp.mailsPerAddress', { limit: 1, windowSeconds: 299 }, /otp\.mailsPerAddress at windowSeconds/],
  ])('with an uncountable %s, such as %j, is rejected', (key, value, message) => {
    expect(() => readProfile({ ...valid, [key]: value }, 'p.json')).toThrow(message)
  })

  test.each([null, [], 'text'])('that is %j is rejected', (profile) => {
    expect(() => readProfile(profile, 'p.json')).toThrow(ProfileError)
  })
})
