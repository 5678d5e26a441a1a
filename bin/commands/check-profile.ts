import { routes } from '#functions/routes.ts'
import { checkConcurrency } from '#lib/check-concurrency.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { stageNamed } from '#lib/stage.ts'
import { readBase, resolveProfile } from '#shared/settings/read-profile.ts'
import { register, type SettingKey } from '#shared/settings/register.ts'
import { loadSettings, readProfileFile } from '../build/settings-file.ts'

/** What a profile that is complete for a stage says, and what its base says. */
interface ProfileCheck {
  profile: string
  stage: string
  /** The number of settings of which the profile says something. */
  decided: number
  /** Settings of the profile that have the value of the base: they can be left out. */
  same_as_base: string[]
  /** What only the operator knows, and the profile leaves to the base: no domain, no mail, the default quotas. */
  left_to_base: string[]
  /** What the API leaves open, and the base answers. docs/settings.md has the answers. */
  open_points: string[]
}

/**
 * Checks a profile for a stage, as a synthesis does.
 * @throws ProfileError that lists every problem; StageError
 */
export async function checkProfile(profile: string, stageName: string): Promise<ProfileCheck> {
  const stage = stageNamed(stageName)
  const settings = await loadSettings(profile, stageName)
  checkOperations(settings, routes, profile)
  checkConcurrency(stage, settings, profile)
  const { $schema: _, extends: base, ...own } = (await readProfileFile(profile)) as Record<string, unknown>
  const keys = Object.keys(register) as SettingKey[]
  const ofBase = keys.filter((key) => !Object.hasOwn(own, key))
  const ofKind = (kind: string) => ofBase.filter((key) => register[key].kind === kind)
  return {
    profile,
    stage: stageName,
    decided: keys.length - ofBase.length,
    same_as_base: base === undefined ? [] : Object.keys(own).filter(isAsInBase),
    left_to_base: ofKind('deployment'),
    open_points: ofKind('product'),
  }

  function isAsInBase(key: string): boolean {
    const { [key]: value } = own
    const { [key]: merged } = resolveProfile({ extends: base, [key]: value }, profile)
    return JSON.stringify(merged) === JSON.stringify(readBase(base as 'base-1')[key])
  }
}
