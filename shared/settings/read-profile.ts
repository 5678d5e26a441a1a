import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { conflictsOf } from './combinations.ts'
import { extendProfile } from './extend-profile.ts'
import { register, type SettingKey, type Settings } from './register.ts'

/** Thrown when settings of a profile are missing or invalid; its message lists all of them. */
export class ProfileError extends Error {
  override name = 'ProfileError'
}

/** The bases that a profile may extend: sets of answers to everything that no machine and no account decides. */
export const bases = ['base-1'] as const
type Base = (typeof bases)[number]

/** Returns the values of a base. */
export function readBase(name: Base): Record<string, unknown> {
  return JSON.parse(readFileSync(join(import.meta.dirname, `${name}.json`), 'utf8'))
}

/**
 * Returns a value for each setting that a profile or its base decides.
 * @param profile parsed JSON: an object of settings; `extends` names its base, and `$schema` is for editors
 * @throws ProfileError if it is no object, or names no known base
 */
export function resolveProfile(profile: unknown, source: string): Record<string, unknown> {
  if (typeof profile !== 'object' || profile === null || Array.isArray(profile))
    throw new ProfileError(`${source}: a profile is a JSON object of settings`)
  const { $schema: _, extends: name, ...own } = profile as Record<string, unknown>
  if (name === undefined) return own
  const base = bases.find((one) => one === name)
  if (!base)
    throw new ProfileError(
      `${source}: extends ${JSON.stringify(name)} is unknown: expected ${bases.join(' or ')}`,
    )
  return extendProfile(readBase(base), own, register)
}

/**
 * Checks a profile against the register.
 * @param profile parsed JSON, see `resolveProfile`
 * @param source its origin, for the message
 * @param known further problems, one line each
 * @throws ProfileError that names every missing, unknown or malformed setting at once; without any, every combination
 * of settings of which one has no effect
 */
export function readProfile(profile: unknown, source: string, known: readonly string[] = []): Settings {
  const given = new Map(Object.entries(resolveProfile(profile, source)))
  const settings: Record<string, unknown> = {}
  const unknown = [...given.keys()].filter((key) => !Object.hasOwn(register, key))
  const problems = [...known, ...unknown.map((key) => `  ${key}: unknown setting`)]
  for (const key of Object.keys(register) as SettingKey[]) {
    const { kind, description, schema } = register[key]
    const about = `${description} (kind: ${kind}).`
    const result = v.safeParse(schema, given.get(key))
    if (!given.has(key)) problems.push(`  ${key}: missing. ${about}`)
    else if (result.success) settings[key] = result.output
    else {
      const [first, ...others] = result.issues.map((issue) => `  ${key}${at(issue)}: ${problemOf(issue)}.`)
      problems.push(`${first} ${about}`, ...others)
    }
  }
  if (problems.length === 0) problems.push(...conflictsOf(settings as Settings))
  if (problems.length === 0) return settings as Settings
  const missing = Object.keys(register).filter((key) => !given.has(key))
  // A base leaves only what the account decides open, so a profile that extends one lacks few settings.
  const baseless = missing.length > Object.keys(register).length / 2
  const hint = baseless ? ` Most settings are missing: "extends": "${bases[0]}" gives them values.` : ''
  throw new ProfileError(`${source}: ${problems.length} problem(s) to fix:${hint}\n${problems.join('\n')}`)
}

/** Returns what is wrong. Valibot calls the key of a missing member invalid, and that of an unknown one. */
function problemOf({ message, expected, received }: v.BaseIssue<unknown>): string {
  if (!message.startsWith('Invalid key')) return message
  if (received === 'undefined') return 'missing'
  return expected === 'never' ? 'unknown member' : message
}

function at(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue)
  return path ? ` at ${path}` : ''
}
