import type { Settings } from '../../settings/register.ts'

/**
 * The issuer that a deployment brings along: its user pool, whose id is known only once it is deployed. Its access
 * tokens name the app client as their audience (see functions/login/add-claims).
 * @param environment USER_POOL_ISSUER and USER_POOL_CLIENT_ID; AWS_ENDPOINT_URL where AWS is an engine elsewhere,
 * which then serves the keys of an issuer that keeps its name
 */
export function poolIssuer(environment: NodeJS.ProcessEnv): Settings['auth.issuers'] {
  const { USER_POOL_ISSUER: issuer, USER_POOL_CLIENT_ID: audience, AWS_ENDPOINT_URL: engine } = environment
  if (!issuer || !audience) return []
  const address = engine ? `${engine}${new URL(issuer).pathname}` : issuer
  const keys = { jwks_uri: `${address}/.well-known/jwks.json` }
  return [{ issuer, audience, algorithms: ['RS256'], keys }]
}
