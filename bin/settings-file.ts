import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { developmentKeySet } from './development-issuer.ts'

export const localProfile = join(import.meta.dirname, '../shared/settings/profiles/local.json')

/**
 * Reads and checks the profile of a deployment.
 * @param stage only the local stage may trust the key that this checkout made for itself
 * @throws ProfileError with one message that lists everything that is wrong
 */
export async function loadSettings(file: string, stage: string): Promise<Settings> {
  return readProfile(await withDevelopmentKeys(await parseFile(file), file, stage), file)
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

/** Puts the local issuer's public key where a profile says "development". */
async function withDevelopmentKeys(profile: unknown, file: string, stage: string): Promise<unknown> {
  const issuers = (profile as Record<string, unknown> | null)?.['auth.issuers']
  if (!Array.isArray(issuers) || !issuers.some((issuer) => issuer?.keys === 'development')) return profile
  if (stage !== 'local') {
    throw new ProfileError(
      `${file}: auth.issuers: the key set 'development' is for the local stage only; ` +
        `a deployment to stage ${stage} names the key set of its issuer`,
    )
  }
  const keys = await developmentKeySet()
  const known = issuers.map((issuer) => (issuer?.keys === 'development' ? { ...issuer, keys } : issuer))
  return { ...(profile as object), 'auth.issuers': known }
}
