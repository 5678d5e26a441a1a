import { routes } from '#functions/routes.ts'
import { csrfCookie, sessionCookie } from '#shared/platform/identity/session.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { generatedFile } from './generated-file.ts'
import { errorSchema } from './openapi/errors.ts'
import { operation } from './openapi/operation.ts'
import { sharedParameters } from './openapi/parameters.ts'
import type { Json } from './openapi/schemas.ts'
import { withVariant } from './openapi/variants.ts'
import { loadSettings } from './settings-file.ts'

/** Returns the description of the service under this profile as OpenAPI 3.1, from the route table alone. */
export function openapiDocument(settings: Settings): Json {
  const paths: Record<string, Json> = {}
  const places = Map.groupBy(routes, ({ route }) => `${route.method} ${pathOf(route, settings)}`)
  for (const atPlace of places.values()) {
    const [first, ...others] = atPlace.map(({ route }) => route)
    if (!first) continue
    const path = pathOf(first, settings)
    const whole = others.reduce(
      (described, other) => withVariant(described, operation(other, settings)),
      operation(first, settings),
    )
    paths[path] = { ...paths[path], [first.method.toLowerCase()]: whole }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Commerce API',
      version: '1.0.0',
      description:
        'Orders and what belongs to them, for many tenants. Whatever carries x-open-point is decided by the profile of a deployment; the values here are those of the profile local.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', 'x-open-point': 'auth.issuers' },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: settings['auth.apiKeyHeader'],
          description:
            'A key of the role Service in its tenant. It needs the scopes that x-api-key-scopes of an operation names. A bearer token in the same request counts instead.',
          'x-open-point': 'auth.apiKeyHeader',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie,
          description: 'Set by POST /otp/verify.',
          'x-open-point': 'auth.sessionOperations',
        },
        csrf: {
          type: 'apiKey',
          in: 'header',
          name: settings['auth.csrf'].header,
          description: `The value of the cookie ${csrfCookie}, which is set beside that of the session.`,
          'x-open-point': 'auth.csrf',
        },
        signature: {
          type: 'apiKey',
          in: 'header',
          name: settings['webhooks.scheme'].signatureHeader,
          'x-open-point': 'webhooks.scheme',
        },
      },
      schemas: { Error: errorSchema },
      parameters: sharedParameters(settings),
      headers: {
        CorrelationId: textHeader('Ties the answer to its log lines, audit records and events.'),
        IdempotencyStatus: {
          ...textHeader(''),
          schema: { type: 'string', enum: ['stored', 'replayed'] },
          description: 'stored by the first call with a key, replayed by the others.',
        },
        ETag: textHeader('A strong entity tag.'),
        SetCookie: textHeader('Two of them: the session, and its CSRF token, which scripts can read.'),
        Location: textHeader('The address of what was made.'),
        RetryAfter: {
          description: 'Seconds to wait before another try.',
          schema: { type: 'integer', minimum: 0 },
        },
        Challenge: textHeader(
          'How to authenticate (RFC 6750). On AWS, API Gateway sends it as x-amzn-Remapped-WWW-Authenticate.',
        ),
      },
    },
  }
}

function textHeader(description: string): Json {
  return { description, schema: { type: 'string' } }
}

if (import.meta.main)
  await generatedFile('openapi', 'openapi.json', async () => openapiDocument(await loadSettings()))
