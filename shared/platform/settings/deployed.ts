import type { Settings } from '../../settings/register.ts'

/**
 * The settings of the deployment that a bundle was built for. Bundling puts the checked profile in the place of
 * this module, so that a function neither reads nor checks a profile when it starts.
 */
export function deployedSettings(): Settings {
  throw new Error('settings are put in by bundling; outside a bundle they are passed in')
}
