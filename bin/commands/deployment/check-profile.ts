import { isDeepStrictEqual } from 'node:util'
import { routes } from '#functions/routes.ts'
import { checkConcurrency } from '#lib/checks/check-concurrency.ts'
import { checkOperations } from '#lib/checks/check-operations.ts'
import { stageNamed } from '#lib/stage.ts'
import { readBase, resolveProfile } from '#shared/settings/read-profile.ts'
import { register, type SettingKey, type Settings } from '#shared/settings/register.ts'
import { exampleValues } from '../../build/local-values.ts'
import { loadSettings, readProfileFile } from '../../build/settings-file.ts'

/** What a profile that is complete for a stage says, and what its base says. */
interface ProfileCheck {
  profile: string
  stage: string
  /** The number of settings of which the profile says something. */
  decided: number
  /** Settings of the profile with a value of the examples, which a synthesis refuses. */
  placeholders: string[]
  /** Settings of the profile that have the value of the base: they can be left out. */
  same_as_base: string[]
  /** Answers of the base that fit a first try and no stage for customers, and what each means. */
  to_decide: { setting: SettingKey; otherwise: string }[]
  /** What only the operator knows, and the profile leaves to the base: no domain, no mail, the default quotas. */
  left_to_base: string[]
  /** What the API leaves open, and the base answers. docs/settings.md has the answers. */
  open_points: string[]
}

/** What somebody decides before customers come. The base cannot know it, and a stage works without it, but not as they expect. */
const decisions: readonly [key: SettingKey, isOpen: (settings: Settings) => boolean, otherwise: string][] = [
  [
    'auth.issuers',
    (settings) => settings['auth.issuers'].length === 0,
    'only users of the stack, by a login, get tokens',
  ],
  [
    'cors.allowedOrigins',
    (settings) => settings['cors.allowedOrigins'].length === 0,
    'no page in a browser can call the API',
  ],
  [
    'limits.webAcl',
    (settings) => settings['limits.webAcl'].captcha.tokenDomains.length === 0,
    'nobody can solve a CAPTCHA on your pages: name their hosts in captcha.tokenDomains',
  ],
  ['mail.sender', (settings) => settings['mail.sender'] === null, 'requests for one-time codes get 503'],
  [
    'api.domain',
    (settings) => settings['api.domain'] === null,
    'callers use the address of the gateway, which is lost with the stack',
  ],
  [
    'storage.backups',
    (settings) => {
      const { copies } = settings['storage.backups']
      return copies.every(({ vaultArn }) => vaultArn.split(':')[4] === settings['aws.environment']?.account)
    },
    'all backups are lost with the account: name a vault of another one in copies',
  ],
  [
    'codes.types',
    (settings) => isDeepStrictEqual(settings['codes.types'], readBase('base-1')['codes.types']),
    'callers can issue codes for the sample discounts of the base, 25 % among them',
  ],
]

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
    placeholders: Object.keys(own).filter((key) => exampleValues({ [key]: own[key] }).length > 0),
    same_as_base: base === undefined ? [] : Object.keys(own).filter(isAsInBase),
    to_decide: decisions.flatMap(([setting, isOpen, otherwise]) =>
      stage.keepsData && isOpen(settings) ? [{ setting, otherwise }] : [],
    ),
    left_to_base: ofKind('deployment'),
    open_points: ofKind('product'),
  }

  function isAsInBase(key: string): boolean {
    const { [key]: value } = own
    const { [key]: merged } = resolveProfile({ extends: base, [key]: value }, profile)
    return JSON.stringify(merged) === JSON.stringify(readBase(base as 'base-1')[key])
  }
}
