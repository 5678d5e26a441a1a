import type { ErrorCode } from '#shared/error-catalog.ts'

/** The meaning of each family of errors for a caller. */
export const adviceOfFamily: Readonly<Record<string, string>> = {
  VALIDATION:
    'The request is not valid and had no effect. Correct it and send it again; the same key may be used.',
  AUTH: 'The credentials are missing or not valid. WWW-Authenticate names the accepted scheme.',
  AUTHZ: 'The caller is authenticated but has no permission. A retry is refused again.',
  POLICY: 'A business rule does not allow the request.',
  CONFLICT: 'The request conflicts with the current state. Read the resource and decide again.',
  CODE: 'A one-time code was not accepted.',
  NOT_FOUND: 'The resource does not exist, or the caller may not know that it exists.',
  GONE: 'The resource existed and was removed permanently.',
  RATE_LIMIT: 'Too many requests. Retry-After says when to try again.',
  DEPENDENCY:
    'A service that this one depends on did not respond. Send the same request again with the same key.',
  TRANSIENT: 'A temporary internal fault. Send the same request again with the same key.',
  INTERNAL: 'A fault of the service. It was logged and raises an alarm. Quote the correlation id.',
  PROVIDER: 'The payment provider had already carried out this refund. Its first outcome is returned.',
}

/** The advice for each code. A code added to the catalog needs a line here. */
export const adviceOf: Readonly<Record<ErrorCode, string>> = {
  'VALIDATION.body.invalid':
    'The body has no field, or several fields that are not valid; details.fields names them.',
  'VALIDATION.body.json':
    'The body is not JSON, has a duplicate name, or has a number that cannot be represented exactly.',
  'VALIDATION.body.too_large':
    'The body is larger than the operation accepts; details.fields.body.max is the limit in bytes.',
  'VALIDATION.body.too_deep': 'The body is nested too deeply.',
  'VALIDATION.body.encoding': 'The body is not valid UTF-8.',
  'VALIDATION.content_type.unsupported':
    'Send a content type that the operation accepts, without a content encoding such as gzip.',
  'VALIDATION.accept.unsupported': 'Accept excludes the media type of the response.',
  'VALIDATION.field.required': 'A required field is missing; details.fields names it.',
  'VALIDATION.field.unknown': 'A field or parameter does not exist. Check its spelling.',
  'VALIDATION.field.type': 'A field has the wrong type.',
  'VALIDATION.field.length': 'A field is too short or too long; details.fields gives the limits.',
  'VALIDATION.field.range': 'A number is too small or too large; details.fields gives the limits.',
  'VALIDATION.field.enum': 'The value of a field is not one of the allowed values.',
  'VALIDATION.field.format': 'A field has the wrong format; details.fields gives the pattern.',
  'VALIDATION.header.invalid': 'A header has the wrong format.',
  'VALIDATION.idempotency_key.required':
    'The operation requires an Idempotency-Key. Generate a UUID before the first attempt.',
  'VALIDATION.idempotency_key.length': 'The Idempotency-Key is empty or too long.',
  'VALIDATION.idempotency_key.charset': 'The Idempotency-Key has characters other than visible ASCII.',
  'VALIDATION.if_match.required': 'The update requires If-Match. Read the resource and send its ETag.',
  'VALIDATION.reason.required':
    'Send the reason in the header that the operation names. It is stored in the audit record.',
  'VALIDATION.cursor.invalid':
    'The cursor was changed, or belongs to another list, filter or sort. Start again without a cursor.',
  'VALIDATION.code.length.exceeds': 'A discount code has 1 to 16 characters.',
  'VALIDATION.code.charset': 'A discount code consists of A to Z, 0 to 9 and hyphens.',
  'VALIDATION.name.length.exceeds': 'A name has 1 to 64 characters.',
  'VALIDATION.name.charset': 'The name has a character that is not allowed.',
  'VALIDATION.email': 'The value is not an e-mail address.',
  'VALIDATION.sort.field': 'The list cannot be sorted by this field.',
  'VALIDATION.filter.unknown_key': 'The list has no such filter.',
  'VALIDATION.filter.value_invalid': 'The value of the filter has the wrong type or format.',
  'VALIDATION.datetime.timezone_required': 'The time needs a zone, preferably UTC with Z.',
  'VALIDATION.page_size.max': 'page_size is far above the maximum of 100.',
  'VALIDATION.page_size.min': 'page_size is less than 1.',
  'VALIDATION.page_size.invalid': 'page_size is not a whole number.',
  'VALIDATION.date.range': 'The time is outside the allowed range, or a range ends before it starts.',
  'VALIDATION.url.private_range': 'The URL points to a local or private address. Use a public host.',
  'VALIDATION.csv.header': 'The first line of the file must name its columns.',
  'VALIDATION.csv.malformed': 'The file is not valid CSV. Check for an unclosed quote.',
  'VALIDATION.csv.too_many_rows': 'The file has too many rows. Split it.',
  'VALIDATION.csv.row_too_long': 'A row of the file is too long. Check for an unclosed quote.',
  'VALIDATION.csv.columns': 'A row and the header differ in their number of cells.',
  'VALIDATION.request.invalid': 'The request is not valid.',
  'AUTH.invalid_credentials': 'The token, key or signature is missing or not valid. Get a new one.',
  'AUTH.token.expired': 'The token has expired. Refresh it.',
  'AUTHZ.role.denied': 'The role of the caller does not allow the operation.',
  'AUTHZ.scope.tenant': 'The resource or the tenant of the request belongs to another tenant.',
  'AUTHZ.scope.token': 'The token or key lacks the scope that WWW-Authenticate names.',
  'AUTHZ.field.denied': 'The field cannot be written, or not by this role.',
  'AUTHZ.filter.denied': 'The role of the caller does not allow the filter.',
  'AUTHZ.csrf.token':
    'A request with a session cookie needs the CSRF token. Send the value of the cookie csrf_token in the header that the operation names.',
  'AUTHZ.csrf.origin': 'A request with a session cookie came from an origin that is not allowed.',
  'AUTHZ.request.denied': 'The request was refused before it reached the service.',
  'POLICY.mfa.required':
    'Authenticate with a second factor, as WWW-Authenticate says, and send the request again.',
  'POLICY.account.locked': 'The account is locked. Reset the password or ask the operator.',
  'POLICY.password.change_required':
    'The password is valid for one login only. Choose a new one at the identity provider, or reset it.',
  'POLICY.legal_hold': 'The resource is under legal hold and cannot be changed.',
  'POLICY.export.row_limit': 'The export has too many rows. Use filters to export fewer.',
  'POLICY.code.inactive':
    'The code is a draft, is archived, or has a type without a price rule. Only the event promo.rejected says so.',
  'POLICY.code.expired': 'The code has expired. Only the event promo.rejected says so.',
  'POLICY.code.currency':
    'The discount is in another currency than the cart. Only the event promo.rejected says so.',
  'POLICY.refund.exceeds_charge': 'The amount exceeds what is left of the charge.',
  'POLICY.refund.declined': 'The payment provider refused the refund permanently.',
  'POLICY.refund.repeated': 'The charge was already refunded, and a charge can be refunded once only.',
  'POLICY.refund.no_account':
    'The tenant has no account at the payment provider. Ask the operator to add it to the setting refunds.account.',
  'CONFLICT.soft_deleted': 'The code is deleted. Restore it first.',
  'CONFLICT.not_deleted': 'The code is not deleted, so there is nothing to restore.',
  'CONFLICT.code.exists': 'The tenant already has this code, possibly soft-deleted.',
  'CONFLICT.code.not_combinable':
    'The code cannot be combined with the gift card on the cart, or the cart has the maximum number of codes.',
  'CONFLICT.idempotency.payload_mismatch':
    'The key was used with another payload. Use a new key for a new request.',
  'CONFLICT.idempotency.in_progress':
    'The first request with this key is still in progress. Send it again later with the same key.',
  'CONFLICT.etag.mismatch': 'The resource has changed since it was read. Read it and decide again.',
  'CODE.invalid': 'The one-time code is wrong, expired, used, or not the latest. Request a new one.',
  'NOT_FOUND.order': 'There is no such order for this caller.',
  'NOT_FOUND.code': 'There is no such code for this caller.',
  'NOT_FOUND.charge': 'The payment provider has no such charge for this tenant.',
  'NOT_FOUND.refund': 'There is no such refund for this caller.',
  'NOT_FOUND.cart': 'The service has not received an amount of this cart yet.',
  'NOT_FOUND.operation': 'There is no such operation for this caller, or it is no longer kept.',
  'NOT_FOUND.route': 'There is no such path or method.',
  'GONE.order': 'The order was erased.',
  'GONE.code': 'The code is deleted. Only the event promo.rejected says so.',
  'GONE.version': 'This version of the operation has ended. The changelog names its replacement.',
  'RATE_LIMIT.exceeded': 'Wait for the seconds in Retry-After.',
  'DEPENDENCY.bad_gateway': 'Send the request again after a pause, with the same key.',
  'DEPENDENCY.unavailable':
    'Send the request again after a pause, with the same key. A pending refund continues.',
  'DEPENDENCY.timeout':
    'Send the request again with the same key. The response shows whether the first one took effect.',
  'TRANSIENT.error': 'Send the request again after a pause, with the same key.',
  'INTERNAL.unexpected': 'Do not send the request again. Report the correlation id.',
  'PROVIDER.duplicate': 'No action is needed. The existing refund is returned.',
}
