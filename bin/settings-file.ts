import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stageNamed } from '#lib/stage.ts'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { developmentKeySet } from './development-issuer.ts'
import { localValues } from './local-values.ts'

export const localProfile = join(import.meta.dirname, '../shared/settings/profiles/local.json')

/**
 * Reads and validates the profile of a deployment.
 * @param stage the name of a stage: only the local one may trust the key of this checkout and name addresses of this
 * machine
 * @throws ProfileError with one message that lists every problem
 */
export async function loadSettings(file: string, stage: string): Promise<Settings> {
  const profile = await parseFile(file)
  return stage === 'local'
    ? readProfile(await withDevelopmentKeys(profile), file)
    : readProfile(profile, file, localValues(profile, stageNamed(stage)))
}

async function parseFile(file: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch {
    throw new ProfileError(`${file}: there is no such profile, or it cannot be read`)
  }
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new ProfileError(`${file}: not valid JSON: ${(thrown as Error).message}`)
  }
}

/** Inserts the local issuer's public key where a profile says "development". */
async function withDevelopmentKeys(profile: unknown): Promise<unknown> {
  const issuers = (profile as Record<string, unknown> | null)?.['auth.issuers']
  if (!Array.isArray(issuers) || !issuers.some((issuer) => issuer?.keys === 'development')) return profile
  const keys = await developmentKeySet()
  const known = issuers.map((issuer) => (issuer?.keys === 'development' ? { ...issuer, keys } : issuer))
  return { ...(profile as object), 'auth.issuers': known }
}
