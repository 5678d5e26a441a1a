import * as v from 'valibot'
import { conflictsOf } from './combinations.ts'
import { register, type SettingKey, type Settings } from './register.ts'

/** Thrown when settings of a profile are missing or invalid; its message lists all of them. */
export class ProfileError extends Error {
  override name = 'ProfileError'
}

/**
 * Checks a profile against the register.
 * @param profile parsed JSON: an object with one value for each key of the register
 * @param source its origin, for the message
 * @param known further problems, one line each
 * @throws ProfileError that names every missing, unknown or malformed setting at once; without any, every combination
 * of settings of which one has no effect
 */
export function readProfile(profile: unknown, source: string, known: readonly string[] = []): Settings {
  if (typeof profile !== 'object' || profile === null || Array.isArray(profile)) {
    throw new ProfileError(`${source}: a profile is a JSON object with one value for each setting`)
  }
  const given = new Map(Object.entries(profile))
  const settings: Record<string, unknown> = {}
  const unknown = [...given.keys()].filter((key) => !Object.hasOwn(register, key))
  const problems = [...known, ...unknown.map((key) => `  ${key}: unknown setting`)]
  for (const key of Object.keys(register) as SettingKey[]) {
    const { description, schema } = register[key]
    const result = v.safeParse(schema, given.get(key))
    if (!given.has(key)) problems.push(`  ${key}: missing. ${description}.`)
    else if (result.success) settings[key] = result.output
    else
      problems.push(
        ...result.issues.map((issue) => `  ${key}${at(issue)}: ${issue.message}. ${description}.`),
      )
  }
  if (problems.length === 0) problems.push(...conflictsOf(settings as Settings))
  if (problems.length === 0) return settings as Settings
  throw new ProfileError(`${source}: ${problems.length} problem(s) to fix:\n${problems.join('\n')}`)
}

function at(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue)
  return path ? ` at ${path}` : ''
}
