import { perSettings } from './per-settings.ts'

/** Returns the pattern of the tenant names that a deployment accepts (setting requests.tenantName). */
export const tenantNamePattern = perSettings((settings) => {
  const { punctuation, maxLength } = settings['requests.tenantName']
  const others = ['.', '_', '-'].filter((character) => punctuation.includes(character)).join('')
  return new RegExp(`^[A-Za-z0-9][A-Za-z0-9${others}]{0,${maxLength - 1}}$`)
})
