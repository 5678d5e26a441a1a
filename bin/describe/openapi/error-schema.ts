import { errorCatalog } from '#shared/error-catalog.ts'
import { type Json, opened } from './schemas.ts'

const texts = { type: 'array', items: { type: 'string' } }

const fieldProblem: Json = {
  title: 'FieldProblem',
  type: 'object',
  description: 'The error code of one field, what would be valid, and what was sent.',
  required: ['code', 'reason'],
  properties: {
    code: { type: 'string' },
    reason: { type: 'string' },
    min: { type: 'number' },
    max: { type: 'number' },
    regex: { type: 'string', description: 'The pattern of a valid value.' },
    allowed: { ...texts, description: 'The valid values, or the roles that may send the field.' },
    integer: { type: 'boolean', description: 'True if only an integer is valid.' },
    type: { type: 'string', description: 'The JSON type of a valid value.' },
    not_before: { type: 'string', format: 'date-time', description: 'The earliest valid time.' },
    not_after: { type: 'string', format: 'date-time', description: 'The latest valid time.' },
    actual: {
      description:
        'What was sent. The JSON type, where the type is wrong or the field may not be sent; else a number or time itself, or the length of any other text or of a list; absent without any. It never quotes another text.',
    },
  },
}

/** The envelope of every error. */
export const errorSchema: Json = opened({
  title: 'Error',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      title: 'ErrorBody',
      type: 'object',
      required: ['code', 'message_id', 'http', 'retryable', 'correlation_id', 'details'],
      properties: {
        code: { type: 'string', enum: Object.keys(errorCatalog).sort() },
        message_id: {
          type: 'string',
          pattern: '^error\\.[a-z0-9_.]+$',
          description: 'The key of a translation: error. and the code in lower case.',
        },
        http: { type: 'integer', minimum: 400, maximum: 599, description: 'The status of the response.' },
        retryable: {
          type: 'boolean',
          description: 'True if the same request, with the same Idempotency-Key, may succeed later.',
        },
        correlation_id: { type: 'string', description: 'Quote it when you ask for help.' },
        docs: {
          type: 'string',
          format: 'uri',
          description: 'The row of the code on the page of errors, if the deployment has one.',
        },
        details: {
          title: 'ErrorDetails',
          type: 'object',
          'x-open-point': 'errors.multiField',
          properties: {
            fields: {
              type: 'object',
              description: 'The problem with each rejected field or parameter, by its name.',
              additionalProperties: fieldProblem,
            },
            reason: {
              type: 'string',
              description:
                'RATE_LIMIT.exceeded, except on anonymous operations: what is limited, such as requests, failures or operations_in_progress. CONFLICT.code.not_combinable: gift_card or max_codes.',
            },
            per: {
              type: 'string',
              description: 'RATE_LIMIT.exceeded: whose requests count: principal, source or tenant.',
            },
            max: { type: 'integer', format: 'int64', description: 'The limit that was reached.' },
            window_seconds: {
              type: 'integer',
              format: 'int64',
              description: 'RATE_LIMIT.exceeded: the time in which no more than max are accepted.',
            },
            required_roles: {
              ...texts,
              description: 'AUTHZ.role.denied: the roles that may use the operation.',
            },
            required_scopes: {
              ...texts,
              description: 'AUTHZ.scope.token: the scopes that the operation needs.',
            },
            claim: {
              ...texts,
              description:
                'The claim of the token that is missing or not valid, as the names of the objects that it is in and its own.',
            },
            header: {
              type: 'string',
              description: 'With the claim nonce: the header in which the request must repeat it.',
            },
            missing_cookie: {
              type: 'string',
              description:
                'AUTH.invalid_credentials: the cookie of a session, if the request has no credential.',
            },
            www_authenticate: {
              type: 'string',
              description:
                'Responses with WWW-Authenticate: the same text (RFC 9110 11.6.1). API Gateway renames that header.',
            },
            supported: {
              ...texts,
              description:
                'The media types that the operation supports (415), or the methods of the path (405).',
            },
            soft_deleted: {
              type: 'boolean',
              description: 'CONFLICT.code.exists: whether the code that has this text is deleted.',
            },
            first_used_at: {
              type: 'string',
              format: 'date-time',
              description:
                'CONFLICT.idempotency.payload_mismatch: when the key was used with the other payload.',
            },
            etag: { type: 'string', description: 'CONFLICT.etag.mismatch: the current entity tag.' },
            position: {
              type: 'integer',
              minimum: 0,
              maximum: 2 ** 31 - 1,
              description: 'VALIDATION.body.json: the number of characters before the error.',
            },
            refund_id: {
              type: 'string',
              description:
                'The refund that the payment provider rejected. A later outcome can be read by its id.',
            },
            remaining: {
              type: 'integer',
              format: 'int64',
              description:
                'POLICY.refund.exceeds_charge: what is left of the charge in minor units, if the provider returns it.',
            },
          },
        },
      },
    },
  },
})
