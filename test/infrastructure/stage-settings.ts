import { routes } from '#functions/routes.ts'
import type { Freeze } from '#lib/functions/freeze.ts'
import { areaOf } from '#shared/platform/identity/authorize.ts'
import { readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { publishedProfile } from './published-profile.ts'

export interface SynthesisOptions {
  /** Settings instead of those of the published profile. */
  changes?: Record<string, unknown>
  /** The functions with changed code. */
  codeShas?: Record<string, string>
  /** Operations to add to the route table. */
  moreRoutes?: readonly string[]
  /** The id of the deployment; on stages with a rollout there always is one. */
  release?: string
  bypassesRollout?: boolean
  freeze?: Freeze
}

export async function settingsOf({ changes }: SynthesisOptions): Promise<Settings> {
  return readProfile({ ...(await publishedProfile()), ...changes }, 'the profile of this test')
}

/** The settings of a stage with a domain, the same in all tests, so that it is synthesized once. */
export const withDomain = {
  'api.domain': {
    host: 'api.example.com',
    certificateArn: 'arn:aws:acm:eu-west-1:111122223333:certificate/12345678-1234-1234-1234-123456789012',
  },
}

/** The settings of a stage whose only address is its domain. */
export const behindDomain = { ...withDomain, 'api.gatewayAddress': 'closed' }

/** The settings of a stage without nightly backups, and with copies of the weekly ones. */
export const withWeeklyBackups = {
  'storage.backups': {
    ...{ keptDays: 0, weeklyKeptDays: 35, lock: null },
    copies: [{ vaultArn: 'arn:aws:backup:eu-central-1:444455556666:backup-vault:copies', keptDays: 90 }],
  },
}

/** The settings with which stage dev has what other stages have. */
export const withWatchedDev = { 'stages.dev': { alarms: true, webAcl: true } }

/** A write, one with a reservation, a read, and two operations of one function are kept ready. */
export const withProvisioned = {
  'limits.provisionedConcurrency': {
    'orders.create': 5,
    'refunds.create': 10,
    'orders.list': 3,
    'codes.restore': 1,
    'codes.share': 2,
  },
}

/** Additional operations of a new area: as many as the limits of the stacks have to leave room for. */
export const moreRoutes: readonly string[] = Array.from({ length: 30 }, (_, n) => `extra.read${n + 1}`)

/** One additional operation in each area. */
export const moreInEachArea: readonly string[] = [
  ...new Set(routes.map(({ route }) => `${areaOf(route)}.more`)),
]
