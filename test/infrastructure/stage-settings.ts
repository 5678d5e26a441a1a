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

/** The settings of a stage whose only address is its domain. */
export const behindDomain = {
  'api.domain': {
    host: 'api.example.com',
    certificateArn: 'arn:aws:acm:us-east-1:111122223333:certificate/7c5e-a1',
  },
  'api.gatewayAddress': 'closed',
}
