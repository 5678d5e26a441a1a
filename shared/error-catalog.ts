/** The status of an error code, and whether the same request may be sent again. */
interface ErrorKind {
  http: number
  retryable: boolean
}

const invalid = { http: 400, retryable: false }
const conflict = { http: 409, retryable: false }
const denied = { http: 403, retryable: false }
const missing = { http: 404, retryable: false }
const gone = { http: 410, retryable: false }

/**
 * Every error code of the service. A new code is one line here. The deployment chooses 403 or 404 for
 * AUTHZ.scope.tenant, and 403 or 419 for AUTHZ.csrf.*; the function that throws them sets the status.
 */
export const errorCatalog = {
  'VALIDATION.body.invalid': invalid,
  'VALIDATION.body.json': invalid,
  'VALIDATION.body.too_large': { http: 413, retryable: false },
  'VALIDATION.body.too_deep': invalid,
  'VALIDATION.body.encoding': invalid,
  'VALIDATION.content_type.unsupported': { http: 415, retryable: false },
  'VALIDATION.accept.unsupported': { http: 406, retryable: false },
  'VALIDATION.method.not_allowed': { http: 405, retryable: false },
  'VALIDATION.field.required': invalid,
  'VALIDATION.field.unknown': invalid,
  'VALIDATION.field.type': invalid,
  'VALIDATION.field.length': invalid,
  'VALIDATION.field.range': invalid,
  'VALIDATION.field.enum': invalid,
  'VALIDATION.field.format': invalid,
  'VALIDATION.header.invalid': invalid,
  'VALIDATION.idempotency_key.required': invalid,
  'VALIDATION.idempotency_key.length': invalid,
  'VALIDATION.idempotency_key.charset': invalid,
  'VALIDATION.if_match.required': { http: 428, retryable: false },
  'VALIDATION.reason.required': invalid,
  'VALIDATION.cursor.invalid': invalid,
  'VALIDATION.code.length.exceeds': invalid,
  'VALIDATION.code.charset': invalid,
  'VALIDATION.name.length.exceeds': invalid,
  'VALIDATION.name.charset': invalid,
  'VALIDATION.email': invalid,
  'VALIDATION.sort.field': invalid,
  'VALIDATION.filter.unknown_key': invalid,
  'VALIDATION.filter.value_invalid': invalid,
  'VALIDATION.datetime.timezone_required': invalid,
  'VALIDATION.page_size.max': invalid,
  'VALIDATION.page_size.min': invalid,
  'VALIDATION.page_size.invalid': invalid,
  'VALIDATION.date.range': invalid,
  'VALIDATION.url.private_range': invalid,
  'VALIDATION.csv.header': invalid,
  'VALIDATION.csv.malformed': invalid,
  'VALIDATION.csv.too_many_rows': invalid,
  'VALIDATION.csv.columns': invalid,
  'VALIDATION.csv.row_too_long': invalid,
  'VALIDATION.request.invalid': invalid,
  'AUTH.invalid_credentials': { http: 401, retryable: false },
  'AUTH.token.expired': { http: 401, retryable: false },
  'AUTHZ.role.denied': denied,
  'AUTHZ.scope.tenant': denied,
  'AUTHZ.scope.token': denied,
  'AUTHZ.field.denied': denied,
  'AUTHZ.filter.denied': denied,
  'AUTHZ.request.denied': denied,
  'AUTHZ.csrf.token': denied,
  'AUTHZ.csrf.origin': denied,
  'POLICY.mfa.required': denied,
  'POLICY.account.locked': denied,
  'POLICY.password.change_required': denied,
  'POLICY.legal_hold': conflict,
  'POLICY.export.row_limit': conflict,
  'POLICY.code.inactive': conflict,
  'POLICY.code.expired': conflict,
  'POLICY.code.currency': conflict,
  'POLICY.refund.exceeds_charge': conflict,
  'POLICY.refund.declined': conflict,
  'POLICY.refund.repeated': conflict,
  'POLICY.refund.no_account': conflict,
  'CONFLICT.soft_deleted': conflict,
  'CONFLICT.not_deleted': conflict,
  'CONFLICT.code.exists': conflict,
  'CONFLICT.code.transition': conflict,
  'CONFLICT.code.not_combinable': conflict,
  'CONFLICT.idempotency.payload_mismatch': conflict,
  'CONFLICT.idempotency.in_progress': conflict,
  'CONFLICT.etag.mismatch': { http: 412, retryable: false },
  'CODE.invalid': invalid,
  'NOT_FOUND.order': missing,
  'NOT_FOUND.code': missing,
  'NOT_FOUND.charge': missing,
  'NOT_FOUND.refund': missing,
  'NOT_FOUND.cart': missing,
  'NOT_FOUND.operation': missing,
  'NOT_FOUND.route': missing,
  'GONE.order': gone,
  'GONE.code': gone,
  'GONE.version': gone,
  'RATE_LIMIT.exceeded': { http: 429, retryable: true },
  'DEPENDENCY.bad_gateway': { http: 502, retryable: true },
  'DEPENDENCY.unavailable': { http: 503, retryable: true },
  'DEPENDENCY.timeout': { http: 504, retryable: true },
  'TRANSIENT.error': { http: 500, retryable: true },
  'INTERNAL.unexpected': { http: 500, retryable: false },
  'PROVIDER.duplicate': conflict,
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorCatalog

/** Returns the localization key of a code: error.<family>.<reason>.<detail> in lower case. */
export function messageId(code: string): string {
  return `error.${code.toLowerCase()}`
}
