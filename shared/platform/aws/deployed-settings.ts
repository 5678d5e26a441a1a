import type { Settings } from '../../settings/register.ts'

/**
 * Returns the settings of the deployment of this bundle. Bundling replaces this module with the validated profile, so a
 * function neither reads nor validates a profile when it starts.
 */
export function deployedSettings(): Settings {
  throw new Error('settings are put in by bundling; outside a bundle they are passed in')
}
