import { apiKeyScopes, tenantReachOf } from '#shared/platform/identity/authorize.ts'
import type { Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'

/** Returns the scopes that an API key needs for an operation; undefined if no key, or no key's role, may use it. */
export function keyScopesOf(route: Route, settings: Settings): string[] | undefined {
  const { access } = route
  if (!access || tenantReachOf('Service', access, settings['auth.serviceRole'].actsAs) === 'deny')
    return undefined
  return apiKeyScopes(route, settings)
}
