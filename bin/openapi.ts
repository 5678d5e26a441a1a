import { routes } from '#functions/routes.ts'
import { csrfCookie, sessionCookie } from '#shared/platform/identity/session.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { generatedFile } from './generated-file.ts'
import { errorSchema } from './openapi/errors.ts'
import { operation, withVariant } from './openapi/operation.ts'
import { sharedParameters } from './openapi/parameters.ts'
import { type Json, openPoint } from './openapi/schemas.ts'
import { loadSettings } from './settings-file.ts'

/** Returns the description of the service under this profile as OpenAPI 3.1, from the route table alone. */
export function openapiDocument(settings: Settings): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Commerce API',
      version: '1.0.0',
      description:
        'Orders, codes, refunds, carts and customers for many tenants. The profile of a deployment decides whatever carries x-open-point; the values here are those of the profile local.',
    },
    servers: [{ url: '/' }],
    paths: pathsOf(settings),
    components: {
      securitySchemes: securitySchemes(settings),
      schemas: { Error: errorSchema },
      parameters: sharedParameters(settings),
      headers: {
        CorrelationId: header('Identifies the log lines, audit records and events of the request.'),
        IdempotencyStatus: header('stored for the first request with a key, replayed for the others.', {
          type: 'string',
          enum: ['stored', 'replayed'],
        }),
        ETag: header('A strong entity tag.'),
        SetCookie: header('Two cookies: the session, and its CSRF token, which scripts can read.'),
        Location: header('The address of the created resource.'),
        RetryAfter: header('Seconds to wait before a retry.', { type: 'integer', minimum: 0 }),
        Challenge: header(
          'How to authenticate (RFC 6750). On AWS, API Gateway sends it as x-amzn-Remapped-WWW-Authenticate.',
        ),
      },
    },
  }
}

function pathsOf(settings: Settings): Json {
  const paths: Record<string, Json> = {}
  const byRequest = Map.groupBy(routes, ({ route }) => `${route.method} ${pathOf(route, settings)}`)
  for (const [request, endpoints] of byRequest) {
    const [method = '', path = ''] = request.split(' ')
    const described = endpoints.map(({ route }) => operation(route, settings)).reduce(withVariant)
    paths[path] = { ...paths[path], [method.toLowerCase()]: described }
  }
  return paths
}

function securitySchemes(settings: Settings): Json {
  const key = (name: string, setting: keyof Settings, description?: string) => {
    return { type: 'apiKey', in: 'header', name, ...(description && { description }), ...openPoint(setting) }
  }
  return {
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', ...openPoint('auth.issuers') },
    apiKey: key(
      settings['auth.apiKeyHeader'],
      'auth.apiKeyHeader',
      'A key of the role Service in its tenant. It needs the scopes in x-api-key-scopes of an operation. A bearer token in the same request takes precedence.',
    ),
    session: {
      ...key(sessionCookie, 'auth.sessionOperations', 'Set by POST /otp/verify.'),
      in: 'cookie',
    },
    csrf: key(
      settings['auth.csrf'].header,
      'auth.csrf',
      `The value of the cookie ${csrfCookie}, which is set together with the session cookie.`,
    ),
    signature: key(settings['webhooks.scheme'].signatureHeader, 'webhooks.scheme'),
  }
}

function header(description: string, schema: Json = { type: 'string' }): Json {
  return { description, schema }
}

if (import.meta.main)
  await generatedFile('openapi', 'openapi.json', async () => openapiDocument(await loadSettings()))
