import { describe, expect, test } from '@jest/globals'
import type { Failure } from '#shared/platform/base/failure.ts'
import type { HttpRequest } from '#shared/platform/base/http.ts'
import {
  auditReason,
  checkIfMatch,
  checkPrecondition,
  entityTag,
  idempotencyKey,
  weakEntityTag,
} from '#shared/platform/request/parse-headers.ts'
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

describe('an entity tag', () => {
  const etag = entityTag({ id: '1', version: 1 })
  const weak = weakEntityTag({ id: '1', version: 1 })
  const other = entityTag({ id: '1', version: 2 })
  const outcomeOf = (check: () => void) => (thrownBy(check) as Failure | undefined)?.code ?? 'passes'
  const mismatch = 'CONFLICT.etag.mismatch'

  test('is that of every equal representation, and of no other', () => {
    expect(entityTag({ id: '1', version: 1 })).toBe(etag)
    expect(other).not.toBe(etag)
    expect(etag).toMatch(/^"[\w-]+"$/)
    expect(weak).toBe(`W/${etag}`)
  })

  test.each<[string | undefined, string, string]>([
    [undefined, etag, 'passes'],
    [' * ', etag, 'passes'],
    [etag, etag, 'passes'],
    [`${other} , ${etag}`, etag, 'passes'],
    [other, etag, mismatch],
    [weak, etag, mismatch],
    [weak, weak, mismatch],
  ])('If-Match: %s compares strongly with %s: %s', (given, current, outcome) => {
    expect(outcomeOf(() => checkIfMatch(given, current))).toBe(outcome)
    expect(outcomeOf(() => checkPrecondition({ ifMatch: given }, current))).toBe(outcome)
  })

  test.each<[string | undefined, string, string]>([
    [undefined, etag, 'passes'],
    [other, etag, 'passes'],
    [' * ', etag, mismatch],
    [weak, etag, mismatch],
    [etag, weak, mismatch],
    [`${other} , ${etag}`, etag, mismatch],
  ])('If-None-Match: %s compares weakly with %s: %s', (ifNoneMatch, current, outcome) => {
    expect(outcomeOf(() => checkPrecondition({ ifNoneMatch }, current))).toBe(outcome)
  })

  test('that is current is in the error', () => {
    expect(thrownBy(() => checkIfMatch(other, etag))).toMatchObject({ details: { etag } })
  })
})
