import { expect, test } from '@jest/globals'
import type { Failure } from '#shared/platform/base/failure.ts'
import type { HttpRequest } from '#shared/platform/base/http.ts'
import { auditReason, idempotencyKey } from '#shared/platform/request/parse-headers.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

const route = {
  operation: 'sample',
  idempotency: 'required',
  reason: () => ({ header: 'X-Reason', maxLength: 20 }),
} as unknown as Route
const requestOf = (headers: Record<string, string>) => ({ headers }) as HttpRequest

test.each<[string, typeof idempotencyKey, string, Record<string, string>, string | number]>([
  ['an absent key', idempotencyKey, 'Idempotency-Key', {}, 'absent'],
  ['an empty key', idempotencyKey, 'Idempotency-Key', { 'idempotency-key': '' }, 0],
  ['an absent reason', auditReason, 'X-Reason', {}, 'absent'],
  ['a blank reason', auditReason, 'X-Reason', { 'x-reason': ' ' }, 0],
])('%s is rejected with its length', (_, parse, header, headers, actual) => {
  const { details } = thrownBy(() => parse(requestOf(headers), route, localSettings)) as Failure
  expect(details?.fields).toMatchObject({ [header]: { reason: 'required', actual } })
})
