import type { ErrorCode } from '#shared/platform/errors/catalogue.ts'

/** The meaning of each family of errors for a caller. */
export const adviceOfFamily: Readonly<Record<string, string>> = {
  VALIDATION:
    'The request is not well formed. Nothing happened; mend it and send it again, with the same key if you like.',
  AUTH: 'The credentials do not say who calls. WWW-Authenticate tells which are wanted.',
  AUTHZ: 'The caller is known and may not do this. The same caller will be refused again.',
  POLICY: 'A rule of the business stands in the way.',
  CONFLICT: 'The state of things stands in the way: look at it, and decide anew.',
  CODE: 'A one-time code was not accepted.',
  NOT_FOUND: 'There is nothing there, or nothing that the caller may know of.',
  GONE: 'It was there, and is gone for good.',
  RATE_LIMIT: 'Too many requests; Retry-After says when the next one has a chance.',
  DEPENDENCY:
    'Something that the service needs did not answer. Send the same request again, with the same key.',
  TRANSIENT: 'A passing fault inside. Send the same request again, with the same key.',
  INTERNAL: 'A fault of the service. It is recorded and people are told; quote the correlation id.',
  PROVIDER: 'The payment provider had seen this refund before; its first outcome counts.',
}

/** The advice for each code. A code added to the catalog needs a line here. */
export const adviceOf: Readonly<Record<ErrorCode, string>> = {
  'VALIDATION.body.invalid': 'The body is an array or a plain value where an object is wanted.',
  'VALIDATION.body.json':
    'The body is not JSON, or holds the same name twice or a number that JSON cannot carry exactly.',
  'VALIDATION.body.too_large':
    'The body is larger than the operation takes; details.fields.body.max says how much that is.',
  'VALIDATION.body.too_deep': 'The body is nested too deep.',
  'VALIDATION.body.encoding': 'The body is not valid UTF-8.',
  'VALIDATION.content_type.unsupported':
    'Send the content type that the operation names, without a content encoding such as gzip.',
  'VALIDATION.accept.unsupported': 'Accept does not allow what the operation answers with.',
  'VALIDATION.field.required': 'A field is missing; details.fields says which.',
  'VALIDATION.field.unknown': 'A field or parameter is not known: look for a misspelling.',
  'VALIDATION.field.type': 'A field has the wrong type.',
  'VALIDATION.field.length': 'A field is too short or too long; details.fields gives the limits.',
  'VALIDATION.field.range': 'A number is too small or too large; details.fields gives the limits.',
  'VALIDATION.field.enum': 'A field has none of the allowed values.',
  'VALIDATION.field.format': 'A field has the wrong form; details.fields gives the pattern.',
  'VALIDATION.header.invalid': 'A header has the wrong form.',
  'VALIDATION.idempotency_key.required':
    'The operation wants an Idempotency-Key: make a UUID before the first try.',
  'VALIDATION.idempotency_key.length': 'The Idempotency-Key is empty or too long.',
  'VALIDATION.idempotency_key.charset': 'The Idempotency-Key holds something else than visible ASCII.',
  'VALIDATION.if_match.required': 'The update wants If-Match: read first, and send the ETag that came.',
  'VALIDATION.reason.required': 'Say why in the header that the operation names; the audit keeps it.',
  'VALIDATION.cursor.invalid': 'The cursor is not from this list, or was changed: begin the walk anew.',
  'VALIDATION.code.length.exceeds': 'A discount code has 1 to 16 characters.',
  'VALIDATION.code.charset': 'A discount code is made of A to Z, 0 to 9 and hyphens.',
  'VALIDATION.name.length.exceeds': 'A name has 1 to 64 characters.',
  'VALIDATION.name.charset': 'The name holds a character that is not allowed.',
  'VALIDATION.email': 'That is not an e-mail address.',
  'VALIDATION.sort.field': 'The list cannot be sorted by this field.',
  'VALIDATION.filter.unknown_key': 'The list has no such filter.',
  'VALIDATION.filter.value_invalid': 'The filter has a value of the wrong type or form.',
  'VALIDATION.datetime.timezone_required': 'Give the time with its zone, best in UTC with Z.',
  'VALIDATION.page_size.max': 'page_size is absurdly large.',
  'VALIDATION.page_size.min': 'page_size is less than 1.',
  'VALIDATION.page_size.invalid': 'page_size is not a whole number.',
  'VALIDATION.date.range': 'The time lies where it may not, or a range ends before it begins.',
  'VALIDATION.url.private_range': 'The address names this host or a private network: use a public one.',
  'VALIDATION.csv.header': 'The first line of the file must name its columns.',
  'VALIDATION.csv.malformed': 'The file is not CSV: look for an unclosed quote.',
  'VALIDATION.csv.too_many_rows': 'The file has too many rows: split it.',
  'VALIDATION.csv.row_too_long':
    'A row of the file is longer than any honest one: look for an unclosed quote.',
  'VALIDATION.csv.columns': 'A row has another number of cells than the header.',
  'VALIDATION.request.invalid': 'The request is not well formed.',
  'AUTH.invalid_credentials': 'The token, key or signature is missing or not valid: get a new one.',
  'AUTH.token.expired': 'The token has expired: refresh it.',
  'AUTHZ.role.denied': 'The role of the caller does not allow the operation.',
  'AUTHZ.scope.tenant': 'It belongs to another tenant.',
  'AUTHZ.scope.token': 'The token lacks the scope that WWW-Authenticate names: ask for a token with it.',
  'AUTHZ.field.denied': 'Nobody, or not this role, may write the field.',
  'AUTHZ.filter.denied': 'The role of the caller does not allow the filter.',
  'AUTHZ.csrf.token':
    'A request by cookie wants the CSRF token: send the value of the cookie csrf_token in the header that the operation names.',
  'AUTHZ.csrf.origin': 'A request by cookie comes from an origin that is not allowed.',
  'AUTHZ.request.denied': 'The request was refused before it reached the service.',
  'POLICY.mfa.required':
    'Authenticate with a second factor, as WWW-Authenticate says, and send the request again.',
  'POLICY.account.locked': 'The account is locked: reset the password, or ask who runs it.',
  'POLICY.password.change_required':
    'The password is one for a single use: choose a new one at the identity provider, or reset it.',
  'POLICY.legal_hold': 'It is kept for legal reasons and cannot be changed.',
  'POLICY.export.row_limit': 'There are more rows than one export may hold: export less by filters.',
  'POLICY.code.inactive':
    'The code is a draft, is archived, or has a type without a price rule. Only the event promo.rejected says so.',
  'POLICY.code.expired': 'The code has expired. Only the event promo.rejected says so.',
  'POLICY.code.currency':
    'The code takes off an amount in another currency than that of the cart. Only the event promo.rejected says so.',
  'POLICY.refund.exceeds_charge': 'More would be paid back than is left of the charge.',
  'POLICY.refund.declined': 'The payment provider refuses the refund for good.',
  'POLICY.refund.repeated': 'The charge was refunded before, and is refunded once only.',
  'POLICY.refund.no_account':
    'The tenant has no account at the payment provider: ask the operator to add it to the setting refunds.account.',
  'CONFLICT.soft_deleted': 'The code is deleted: restore it first.',
  'CONFLICT.not_deleted': 'The code is not deleted, so there is nothing to restore.',
  'CONFLICT.code.exists': 'The tenant has this code already, perhaps deleted.',
  'CONFLICT.code.not_combinable':
    'The code cannot be combined with the gift card on the cart, or the cart holds as many codes as it may.',
  'CONFLICT.idempotency.payload_mismatch':
    'The key was used for another request: make a new key for a new intention.',
  'CONFLICT.idempotency.in_progress':
    'The first request with this key is still in progress. Send it again later with the same key.',
  'CONFLICT.etag.mismatch': 'It has changed since you read it: read again, and decide anew.',
  'CODE.invalid': 'The one-time code is wrong, expired, used, or not the latest: ask for a new one.',
  'NOT_FOUND.order': 'There is no such order for this caller.',
  'NOT_FOUND.code': 'There is no such code for this caller.',
  'NOT_FOUND.charge': 'The payment provider knows no such charge of this tenant.',
  'NOT_FOUND.refund': 'There is no such refund for this caller.',
  'NOT_FOUND.cart': 'The service has not received an amount of this cart yet.',
  'NOT_FOUND.operation': 'There is no such operation for this caller, or no longer.',
  'NOT_FOUND.route': 'There is no such path or method.',
  'GONE.order': 'The order was erased.',
  'GONE.code': 'The code is deleted. Only the event promo.rejected says so.',
  'GONE.version': 'This version of the operation has ended: see the changelog for what takes its place.',
  'RATE_LIMIT.exceeded': 'Wait as long as Retry-After says.',
  'DEPENDENCY.bad_gateway': 'Send it again after a pause.',
  'DEPENDENCY.unavailable': 'Send it again after a pause; a refund goes on where it stood.',
  'DEPENDENCY.timeout': 'Send it again with the same key: whether it took effect, the answer will tell.',
  'TRANSIENT.error': 'Send it again after a pause.',
  'INTERNAL.unexpected': 'Do not send it again; report the correlation id.',
  'PROVIDER.duplicate': 'Nothing: the refund that exists is returned.',
}
