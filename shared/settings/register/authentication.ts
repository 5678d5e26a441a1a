import * as v from 'valibot'
import { headerName, integer, list, nonEmpty, operations, scope, setting, some, text } from '../setting.ts'
import { tenantPattern } from '../tenant-limits.ts'

const algorithms = [
  ...(['ES256', 'ES384', 'ES512', 'EdDSA'] as const),
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
] as const

/** The names of issuers that the service itself is, of its API keys and sessions. */
const ownNames = /^urn:commerce-api:/

/** Returns the type (kty) of the keys of an algorithm (RFC 7518 6.1, RFC 8037). */
function keyTypeOf(algorithm: string): string {
  return algorithm === 'EdDSA' ? 'OKP' : algorithm.startsWith('ES') ? 'EC' : 'RSA'
}

/** Claims that have a meaning already. */
const standardClaims = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'nonce', 'token_use']
/** A list, because the names of claims may contain dots and slashes. A challenge to callers quotes them (RFC 6750 3). */
const claim = v.pipe(
  v.array(text(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'the name of a claim')),
  v.minLength(1),
  v.check(
    ([name = '']) => !standardClaims.includes(name),
    `expected a claim other than ${standardClaims.join(', ')}`,
  ),
)

const issuer = v.pipe(
  v.strictObject({
    issuer: v.pipe(
      nonEmpty,
      v.check((name) => !ownNames.test(name), 'expected a name that does not start with urn:commerce-api:'),
      v.notValues(['user_pool', 'sessions'], 'expected a name other than user_pool and sessions'),
    ),
    audience: nonEmpty,
    algorithms: some(v.picklist(algorithms)),
    tenants: v.optional(some(text(tenantPattern))),
    claims: v.strictObject({
      tenant: v.optional(claim),
      roles: claim,
      scopes: claim,
      audience: v.optional(claim),
    }),
    types: some(v.nullable(text(/^[A-Za-z0-9.+-]+$/, 'a media type without application/'))),
    keys: v.union(
      [
        v.strictObject({ jwks_uri: v.pipe(v.string(), v.url(), v.startsWith('https://')) }),
        v.strictObject({ keys: some(v.looseObject({ kty: v.string(), kid: v.string() })) }),
      ],
      "expected a key set: {jwks_uri}, {keys} or, on the local stage, 'development'",
    ),
  }),
  v.check(({ algorithms: used, keys }) => {
    if (!('keys' in keys)) return true
    const [needed, given] = [used.map(keyTypeOf), keys.keys.map(({ kty }) => kty)]
    return needed.every((kty) => given.includes(kty)) && given.every((kty) => needed.includes(kty))
  }, 'expected a key (kty) for each of the algorithms, and no other'),
  v.check(
    ({ claims, tenants }) => claims.tenant !== undefined || tenants?.length === 1,
    'without a claim of the tenant, expected one tenant in tenants',
  ),
  v.check(
    ({ types }) => new Set(types.map((type) => type?.toLowerCase())).size === types.length,
    'two types differ only in their case',
  ),
  v.check(
    ({ keys }) => !('keys' in keys) || new Set(keys.keys.map(({ kid }) => kid)).size === keys.keys.length,
    'two keys have the same kid',
  ),
)

export const authentication = {
  'auth.issuers': setting(
    'deployment',
    'Issuer, audience, algorithms, types (typ), claims and key set of each accepted token issuer; null is a token without typ; without at+jwt, a token needs token_use=access or scopes (RFC 7517, RFC 9068: at+jwt; Cognito, Okta: null). claims are paths, as lists of names: scopes are a list, or a text separated by spaces, and roles a list, or one role; audience is checked if a token has no aud. tenants binds an issuer: it names callers of these tenants only, and its Admins act in no other; without a claim of the tenant, all its callers are in the one tenant',
    v.pipe(
      list(issuer),
      v.check(
        (issuers) => new Set(issuers.map((one) => one.issuer)).size === issuers.length,
        'two issuers have the same name',
      ),
    ),
  ),
  'auth.clockToleranceSeconds': setting(
    'tuning',
    'Accepted clock difference of an issuer for exp, nbf and iat, in seconds (RFC 7519 4.1.4)',
    integer(0, 300),
  ),
  'auth.maxTokenSeconds': setting(
    'tuning',
    'Longest life of a token from iat to exp, in seconds; a longer one and one without iat are refused (Cognito: at most 1 day; Auth0: 1 day; Entra: at most 28 hours; Okta: at most 1 day)',
    integer(60, 2_592_000),
  ),
  'auth.nonce': setting(
    'product',
    'Check of the nonce of a token, and the header with the value that the client chose (OpenID Connect Core 3.1.3.7)',
    v.strictObject({ mode: v.picklist(['bound', 'required', 'off']), header: headerName }),
  ),
  'auth.crossTenantStatus': setting(
    'product',
    'Status of cross-tenant access by a caller who is not an Admin (OWASP Multi-Tenant Security: 404)',
    v.picklist([403, 404]),
  ),
  'auth.mfa': setting(
    'product',
    'Operations that require multi-factor authentication, and the path of the claim and the value that prove it (RFC 9470, RFC 8176)',
    v.strictObject({ operations, claim, value: nonEmpty }),
  ),
  'auth.apiKeyHeader': setting('product', 'Header of an API key of the role Service', headerName),
  'auth.sessionOperations': setting('product', 'Operations that accept a session cookie', operations),
  'auth.csrf': setting(
    'product',
    'Header of the CSRF token, and the status if it is wrong (OWASP: HMAC-signed double submit)',
    v.strictObject({ header: headerName, status: v.picklist([403, 419]) }),
  ),
  'secrets.maxAgeSeconds': setting(
    'tuning',
    'Maximum age of a cached secret, in seconds (AWS extension for parameters and secrets: 300)',
    integer(10, 86_400),
  ),
  'auth.publicTenant': setting('product', 'Tenant of callers without a token', text(tenantPattern)),
  'auth.serviceRole': setting(
    'product',
    'Role whose permissions in its own tenant the role Service has',
    v.strictObject({ actsAs: v.picklist(['Viewer', 'Editor']) }),
  ),
  'auth.scopes': setting(
    'product',
    'Scope that a token needs for an operation, by operation; operations on codes have fixed scopes',
    v.record(v.string(), scope),
  ),
  'auth.operationScopes': setting(
    'product',
    'Scope that an API key needs for an operation, by operation; null if no API key has access (Stripe restricted keys)',
    v.record(v.string(), v.nullable(scope)),
  ),
  'auth.apiKeyPermissions': setting(
    'product',
    'Permissions of an API key without scopes: none, or those of its role and auth.scopes (Stripe restricted keys: nothing)',
    v.picklist(['nothing', 'role']),
  ),
  'auth.adminTenantParameter': setting(
    'product',
    'Query parameter with which an Admin selects another tenant',
    text(/^[a-z][a-z0-9_]{0,31}$/),
  ),
  'cors.allowedOrigins': setting(
    'deployment',
    'Origins whose pages may call the API from a browser',
    list(
      v.pipe(
        v.string(),
        // Browsers send an origin in this form only.
        v.check(
          (origin) => /^https?:/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin,
          'expected an origin as browsers send it: in lower case, without a path, wildcard or standard port',
        ),
      ),
    ),
  ),
  'lists.includeDeletedRoles': setting(
    'product',
    'Roles that may list soft-deleted items',
    list(v.picklist(['Viewer', 'Editor', 'Admin', 'Service'])),
  ),
  'requests.tenantName': setting(
    'product',
    'Punctuation allowed in a tenant name besides letters and digits, and its maximum length',
    v.strictObject({
      punctuation: text(/^(?!.*(.).*\1)[._-]*$/, 'some of . _ -, each once'),
      maxLength: integer(1, 64),
    }),
  ),
}
