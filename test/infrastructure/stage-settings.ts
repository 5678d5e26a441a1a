import { readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { publishedProfile } from './published-profile.ts'

export interface SynthesisOptions {
  /** Settings instead of those of the published profile. */
  changes?: Record<string, unknown>
  /** The functions with changed code. */
  codeShas?: Record<string, string>
  /** The first of the two deployments that introduce the key. */
  preparesKey?: boolean
  /** Routes to add to the table. */
  moreRoutes?: number
  bypassesRollout?: boolean
}

export async function settingsOf({ changes }: SynthesisOptions): Promise<Settings> {
  return readProfile({ ...(await publishedProfile()), ...changes }, 'the profile of this test')
}
