import { functionOf, type RouteEntry, routes } from '#functions/routes.ts'
import { csrfCookie, sessionCookie } from '#shared/platform/identity/session.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { reference, withNamedSchemas } from './openapi/components.ts'
import { sharedErrorResponses } from './openapi/errors.ts'
import { operation, withVariant } from './openapi/operation.ts'
import { type Json, opened, openPointMark } from './openapi/schemas.ts'
import { sharedParameters } from './openapi/shared-parameters.ts'
import { signatureDescription } from './signature.ts'
import { version } from './version.ts'

/** The license and the contact of both descriptions. */
export const ownership = {
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  contact: { name: 'The operator of the deployment' },
}

/** The groups of operations: the areas of the route table. */
const tags = {
  orders: 'Orders of a tenant.',
  refunds: 'Refunds of charges, paid by the payment provider.',
  webhooks: 'Events of other services, such as carts and payments.',
  codes: 'Discount codes of a tenant: they are created, changed, shared, imported and exported.',
  discounts: 'Discounts that codes give to carts.',
  otp: 'Logins by one-time code, which start a session.',
  login: 'Logins by password, which return tokens.',
  imports: 'Imports of customers from CSV files.',
  operations: 'The progress and results of imports.',
  health: 'Whether the service is up.',
}

/** Returns the description of the service under this profile as OpenAPI 3.1, from the route table alone. */
export function openapiDocument(settings: Settings): Json {
  const schemas: Record<string, Json> = {}
  const paths = pathsOf(settings)
  const described = withNamedSchemas(
    {
      paths,
      parameters: sharedParameters(settings),
      responses: {
        ...successes(settings),
        ...sharedErrorResponses(
          routes.map(({ route }) => route),
          paths,
          settings,
        ),
      },
    },
    schemas,
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Commerce API',
      version,
      description:
        'Orders, refunds, discount codes, logins, signed webhooks and imports for many tenants. Times in responses are UTC and end in Z. Callers must ignore fields that they do not know, and accept values that x-extensible-enum does not list. The profile of a deployment decides whatever carries x-open-point; the values here are those of the profile that this description is generated from.',
      ...ownership,
    },
    servers: [
      {
        url: '{base_url}',
        description: 'The address of the stack: its output BaseUrl, which npx commerce env prints.',
        variables: {
          base_url: { default: 'https://api.example.com', description: 'Without a / at its end.' },
        },
      },
    ],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: described.paths,
    components: {
      securitySchemes: securitySchemes(settings),
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      parameters: described.parameters,
      responses: described.responses,
      headers: {
        CorrelationId: header('Identifies the log lines, audit records and events of the request.'),
        IdempotencyStatus: header(
          'stored for the first request with a key, replayed for the others.',
          opened({ enum: ['stored', 'replayed'] }),
        ),
        ETag: header(
          'An entity tag. It is weak on lists, and on an operation with a link, whose signature differs each time.',
        ),
        AcceptPost: header('The accepted media types of a POST.'),
        AcceptPatch: header('The accepted media types of a PATCH. For a PUT, they are in Accept.'),
        ContentDisposition: header('The name of the file.'),
        SetCookie: header('Two cookies: the session, and its CSRF token, which scripts can read.'),
        Location: header(
          'The path of the created resource on the same host. Resolve it against the URL of the request; do not append it to the base URL.',
        ),
        RetryAfter: header('Seconds to wait before the next request.', { type: 'integer', minimum: 0 }),
        Challenge: header(
          'How to authenticate (RFC 6750). details.www_authenticate repeats it. On AWS, API Gateway sends it as x-amzn-Remapped-WWW-Authenticate.',
        ),
      },
    },
  }
}

function pathsOf(settings: Settings): Json {
  const paths: Record<string, Json> = {}
  const byRequest = Map.groupBy(routes, ({ route }) => `${route.method} ${pathOf(route, settings)}`)
  for (const [request, entries] of byRequest) {
    const [method = '', path = ''] = request.split(' ')
    const described = entries.map((entry) => operation(entry, settings)).reduce(withVariant)
    const operationId = operationIdOf(entries)
    paths[path] = { ...paths[path], [method.toLowerCase()]: { operationId, ...described } }
  }
  return paths
}

/** Returns the name of the folder of an operation in camel case: `orders/create-order` is createOrder. */
function operationIdOf([entry, ...variants]: readonly RouteEntry[]): string | undefined {
  const { folder } = entry && variants.length > 0 ? functionOf(entry) : (entry ?? { folder: '' })
  return folder.replace(/^.*\//, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function successes(settings: Settings): Json {
  const { linkSeconds } = settings['codes.export']
  const correlation = { 'X-Correlation-Id': reference('headers', 'CorrelationId') }
  return {
    NotModified: {
      description: 'The known version is current.',
      headers: { ...correlation, ETag: reference('headers', 'ETag') },
    },
    SeeOther: {
      description: `Location is a link to the file. It is valid for ${linkSeconds} seconds.`,
      ...openPointMark('codes.export'),
      headers: {
        ...correlation,
        Location: header('A link to the file at the file store, on another host. It needs no credentials.'),
      },
    },
  }
}

function securitySchemes(settings: Settings): Json {
  const key = (name: string, setting: keyof Settings, description?: string) => {
    return {
      type: 'apiKey',
      in: 'header',
      name,
      ...(description && { description }),
      ...openPointMark(setting),
    }
  }
  return {
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', ...openPointMark('auth.issuers') },
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
    signature: key(
      settings['webhooks.scheme'].signatureHeader,
      'webhooks.scheme',
      signatureDescription(settings),
    ),
    stripeSignature: {
      ...{ type: 'apiKey', in: 'header', name: 'Stripe-Signature' },
      description: 'Stripe signs its events with the secret of the webhook endpoint.',
    },
  }
}

function header(description: string, schema: Json = { type: 'string' }): Json {
  return { description, schema }
}
