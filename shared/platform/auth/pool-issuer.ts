import type { Settings } from '../../settings/register.ts'

/**
 * Returns the issuer of the deployment's own user pool, whose id is known only after deployment. The audience of its
 * access tokens is the app client (see functions/login/add-claims).
 * @param environment USER_POOL_ISSUER and USER_POOL_CLIENT_ID; AWS_ENDPOINT_URL if an emulator replaces AWS: it then
 * serves the keys, and the issuer keeps its name
 */
export function poolIssuer(environment: NodeJS.ProcessEnv): Settings['auth.issuers'] {
  const { USER_POOL_ISSUER: issuer, USER_POOL_CLIENT_ID: audience, AWS_ENDPOINT_URL: engine } = environment
  if (!issuer || !audience) return []
  const address = engine ? `${engine}${new URL(issuer).pathname}` : issuer
  const keys = { jwks_uri: `${address}/.well-known/jwks.json` }
  return [{ issuer, audience, algorithms: ['RS256'], keys }]
}
