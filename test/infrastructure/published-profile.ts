import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveProfile } from '#shared/settings/read-profile.ts'

const file = join(import.meta.dirname, '../../docs/examples/profile-prod.json')

/**
 * The example of a profile of production, with the values of its base and a verified domain of mails, as it is once step
 * 6 of docs/deployment.md is done.
 */
export async function publishedProfile(): Promise<Record<string, unknown>> {
  const example = await readFile(file, 'utf8')
  return resolveProfile(JSON.parse(example.replace('"verified": false', '"verified": true')), file)
}

/** The published profile with an account and hosts of an operator: only such a profile is deployed. */
export async function deployedProfile(): Promise<Record<string, unknown>> {
  const published = JSON.stringify(await publishedProfile())
  return JSON.parse(published.replaceAll('111122223333', '222233334444').replaceAll('acme.cloud', 'acme.dev'))
}
