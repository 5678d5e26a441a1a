import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ProfileError, readProfile, resolveProfile } from '#shared/settings/read-profile.ts'
import { register, type SettingKey } from '#shared/settings/register.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

const root = join(import.meta.dirname, '../..')

/** Returns the text of the TypeScript files in folders, including uncommitted and excluding deleted files. */
function textOf(...places: string[]): string {
  const listing = ['ls-files', '-co', '--exclude-standard', ...places]
  const files = execFileSync('git', listing, { cwd: root, encoding: 'utf8' }).split('\n')
  return files
    .filter(
      (file) => file.endsWith('.ts') && !/^shared\/settings\/(register|profiles|combinations)/.test(file),
    )
    .map((file) => join(root, file))
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
}

const code = textOf('shared', 'functions', 'lib', 'bin')
const rows = textOf('test/settings')
const keys = Object.keys(register) as SettingKey[]
const own = JSON.parse(readFileSync(join(root, 'shared/settings/profiles/local.json'), 'utf8'))
own['auth.issuers'][0].keys = { jwks_uri: 'https://issuer.example/keys' }
const valid = resolveProfile(own, 'p.json')

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

/** Returns the lines with the problems of the local profile with changes. */
function problemsOf(changes: object): string[] {
  const thrown = thrownBy(() => readProfile({ ...valid, ...changes }, 'p.json'))
  if (thrown !== undefined) expect(thrown).toBeInstanceOf(ProfileError)
  return thrown instanceof Error ? thrown.message.split('\n').slice(1) : []
}

describe('the register', () => {
  test.each(keys)('contains %s, which the code reads and a row of test/settings changes', (key) => {
    expect(code.includes(`['${key}']`)).toBe(true)
    expect(new RegExp(`\\[\\s*'${key.replaceAll('.', '\\.')}',`).test(rows)).toBe(true)
  })

  test.each(keys)('leaves a choice in each part of %s', (key) => {
    expect(fixedParts(register[key].schema as Part, key)).toEqual([])
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
    const { [key]: _, ...rest } = valid as Record<string, unknown>
    expect(() => readProfile(rest, 'p.json')).toThrow(new RegExp(`${key.replaceAll('.', '\\.')}: missing`))
  })

  test('that is rejected names the kind of each setting', () => {
    const { 'aws.environment': _, ...rest } = valid
    const thrown = thrownBy(() => readProfile({ ...rest, 'auth.crossTenantStatus': 200 }, 'p.json'))
    expect(String(thrown)).toMatch(/aws\.environment: missing.*deployment/)
    expect(String(thrown)).toMatch(/auth\.crossTenantStatus.*product/)
  })

  test('is rejected with all its errors together', () => {
    const wrong = { 'idempotency.lifetimeHours': 12, 'auth.crossTenantStatus': 200, colour: 'red' }
    expect(problemsOf(wrong).map((line) => line.split(':')[0])).toEqual([
      '  colour',
      '  auth.crossTenantStatus',
      '  idempotency.lifetimeHours',
    ])
  })

  test.each([null, [], 'text'])('that is %j is rejected', (profile) => {
    expect(() => readProfile(profile, 'p.json')).toThrow(ProfileError)
  })
})
