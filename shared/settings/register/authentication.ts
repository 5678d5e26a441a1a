import * as v from 'valibot'
import { setting } from '../setting.ts'

const algorithms = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
] as const
const headerName = v.pipe(v.string(), v.regex(/^[A-Za-z][A-Za-z0-9-]{1,63}$/, 'a header name'))
const scope = v.pipe(v.string(), v.regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope'))
const role = v.picklist(['Viewer', 'Editor', 'Admin', 'Service'])

const issuer = v.strictObject({
  issuer: v.pipe(v.string(), v.minLength(1)),
  audience: v.pipe(v.string(), v.minLength(1)),
  algorithms: v.pipe(v.array(v.picklist(algorithms)), v.minLength(1)),
  keys: v.union(
    [
      v.strictObject({ jwks_uri: v.pipe(v.string(), v.url(), v.startsWith('https://')) }),
      v.strictObject({
        keys: v.pipe(v.array(v.looseObject({ kty: v.string(), kid: v.string() })), v.minLength(1)),
      }),
    ],
    "a key set: {jwks_uri}, {keys} or, on the local stage, 'development'",
  ),
})

/** The pattern of all possible tenant names. Names are part of keys, so they cannot contain the separators of keys. */
export const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export const authentication = {
  'auth.issuers': setting({
    open: 'issuer, audience, algorithms and key set of each accepted token issuer',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'RFC 7517, RFC 9068',
    schema: v.pipe(v.array(issuer), v.minLength(1)),
  }),
  'auth.clockToleranceSeconds': setting({
    open: 'how far the clock of an issuer may be off when exp, nbf and iat are checked, in seconds',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'RFC 7519 4.1.4: a small leeway',
    schema: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(300)),
  }),
  'auth.roleClaim': setting({
    open: "the claim that carries the caller's role",
    contract: 'Authentication, Roles and tenancy',
    feature: 'platform',
    precedent: 'RFC 9068 2.2.3.1; cognito:groups on Cognito',
    schema: v.pipe(v.string(), v.minLength(1)),
  }),
  'auth.scopeClaim': setting({
    open: 'the claim that carries the scopes, separated by spaces',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'RFC 8693, RFC 9068',
    schema: v.pipe(v.string(), v.minLength(1)),
  }),
  'auth.nonce': setting({
    open: 'how the nonce of a token is checked, and the header that carries what the client chose',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'OpenID Connect Core 3.1.3.7',
    schema: v.strictObject({ mode: v.picklist(['bound', 'required', 'off']), header: headerName }),
  }),
  'auth.crossTenantStatus': setting({
    open: 'the status of cross-tenant access by a caller who is not an Admin',
    contract: 'Authentication, Roles and tenancy',
    feature: 'platform',
    precedent: 'OWASP Multi-Tenant Security: 404',
    schema: v.picklist([403, 404]),
  }),
  'auth.mfa': setting({
    open: 'which operations need multi-factor authentication, and the claim and value that prove it',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'RFC 9470, RFC 8176, NIST SP 800-63B',
    schema: v.strictObject({ operations: v.array(v.string()), claim: v.string(), value: v.string() }),
  }),
  'auth.apiKeyHeader': setting({
    open: 'the header that carries an API key of the role Service',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'the OpenAPI apiKey scheme',
    schema: headerName,
  }),
  'auth.sessionOperations': setting({
    open: 'which operations a session cookie may authenticate',
    contract: 'Authentication',
    feature: 'platform',
    schema: v.array(v.string()),
  }),
  'auth.csrf': setting({
    open: 'the header of the CSRF token and the status of its failure',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'OWASP CSRF: HMAC-signed double submit',
    schema: v.strictObject({ header: headerName, status: v.picklist([403, 419]) }),
  }),
  'secrets.maxAgeSeconds': setting({
    open: 'how long a process trusts a secret that it has read, in seconds',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'the AWS extension for parameters and secrets: 300',
    schema: v.pipe(v.number(), v.integer(), v.minValue(10), v.maxValue(86_400)),
  }),
  'auth.publicTenant': setting({
    open: 'the tenant of callers that no token names',
    contract: 'Authentication',
    feature: 'platform',
    schema: v.pipe(v.string(), v.regex(tenantPattern)),
  }),
  'auth.serviceRole': setting({
    open: 'the role whose rights in its own tenant the role Service has',
    contract: 'Roles and tenancy',
    feature: 'platform',
    schema: v.strictObject({ actsAs: v.picklist(['Viewer', 'Editor']) }),
  }),
  'auth.scopes': setting({
    open: 'the scope that an operation outside the codes needs of a token, by operation',
    contract: 'Authentication',
    feature: 'platform',
    schema: v.record(v.string(), scope),
  }),
  'auth.operationScopes': setting({
    open: 'the scope that an API key needs for an operation, by operation; no key may use any other operation',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'restricted keys of Stripe',
    schema: v.record(v.string(), scope),
  }),
  'auth.apiKeyPermissions': setting({
    open: 'what an API key without scopes may do: nothing, or what its role and auth.scopes allow',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'restricted keys of Stripe: nothing',
    schema: v.picklist(['nothing', 'role']),
  }),
  'auth.adminTenantParameter': setting({
    open: 'the query parameter by which an Admin addresses another tenant',
    contract: 'Roles and tenancy',
    feature: 'platform',
    precedent: 'the export of codes in the contract',
    schema: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,31}$/)),
  }),
  'cors.allowedOrigins': setting({
    open: 'the origins that browsers may call from',
    contract: 'Authentication',
    feature: 'platform',
    schema: v.array(
      v.pipe(v.string(), v.regex(/^https?:\/\/[^/*]+$/, 'an origin without a path or wildcard')),
    ),
  }),
  'lists.includeDeletedRoles': setting({
    open: 'the roles that may see soft-deleted items',
    contract: 'GET /v1/orders and GET /codes',
    feature: 'lists',
    schema: v.array(role),
  }),
}
