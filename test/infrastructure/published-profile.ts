import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveProfile } from '#shared/settings/read-profile.ts'

/** The example of a profile of production, with the values of its base. */
export async function publishedProfile(): Promise<Record<string, unknown>> {
  const file = join(import.meta.dirname, '../../docs/examples/profile-prod.json')
  return resolveProfile(JSON.parse(await readFile(file, 'utf8')), file)
}
