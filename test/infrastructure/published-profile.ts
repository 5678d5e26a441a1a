import { readFile } from 'node:fs/promises'
import { localProfile } from '#bin/settings-file.ts'

/** The local profile with an issuer whose keys are published, as a stage on AWS has it. */
export async function publishedProfile(): Promise<Record<string, unknown>> {
  const profile = JSON.parse(await readFile(localProfile, 'utf8'))
  const keys = { jwks_uri: 'https://issuer.example/.well-known/jwks.json' }
  const issuers = profile['auth.issuers'].map((issuer: object) => ({ ...issuer, keys }))
  return { ...profile, 'auth.issuers': issuers }
}
