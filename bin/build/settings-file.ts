import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { stageNamed } from '#lib/stage.ts'
import { ProfileError, readProfile, resolveProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localValues } from './local-values.ts'

export const localProfile = join(import.meta.dirname, '../../shared/settings/profiles/local.json')

/**
 * Reads and validates the profile of a deployment.
 * @param stage the name of a stage: only the local one may trust the key of this checkout and name addresses of this
 * machine
 * @throws ProfileError with one message that lists every problem
 */
export async function loadSettings(file = localProfile, stage = 'local'): Promise<Settings> {
  const profile = resolveProfile(await readProfileFile(file), file)
  return stage === 'local'
    ? readProfile(await withDevelopmentKeys(profile), file)
    : readProfile(profile, file, localValues(profile, stageNamed(stage)))
}

/**
 * Reads what a profile itself says, without its base.
 * @throws ProfileError if it is no JSON
 */
export async function readProfileFile(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new ProfileError(`${file}: there is no such profile, or it cannot be read`)
  })
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new ProfileError(`${file}: not valid JSON: ${(thrown as Error).message}`)
  }
}

/** Inserts the local issuer's public key where a profile says "development". */
async function withDevelopmentKeys(profile: Record<string, unknown>): Promise<unknown> {
  const issuers = profile['auth.issuers']
  if (!Array.isArray(issuers) || !issuers.some((issuer) => issuer?.keys === 'development')) return profile
  const { d: _privatePart, ...publicKey } = await developmentKey()
  const keys = { keys: [publicKey] }
  const known = issuers.map((issuer) => (issuer?.keys === 'development' ? { ...issuer, keys } : issuer))
  return { ...profile, 'auth.issuers': known }
}

/** Stored outside the repository's history, so no deployment trusts a published private key. */
const keyFile = join(import.meta.dirname, '../../.local/issuer-key.json')

/** Returns the private key of the local issuer. It is generated at first use and kept for this checkout. */
export async function developmentKey(): Promise<JWK> {
  const text = await readFile(keyFile, 'utf8').catch(() => undefined)
  if (text !== undefined) return JSON.parse(text)
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: 'ES256', use: 'sig' }
  await mkdir(dirname(keyFile), { recursive: true })
  const draft = `${keyFile}.${process.pid}`
  await writeFile(draft, JSON.stringify(key), { mode: 0o600 })
  await rename(draft, keyFile)
  return developmentKey()
}
