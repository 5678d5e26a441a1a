import { describe, expect, test } from '@jest/globals'
import type { Failure } from '#shared/platform/base/failure.ts'
import type { HttpRequest } from '#shared/platform/base/http.ts'
import {
  auditReason,
  checkPrecondition,
  entityTag,
  idempotencyKey,
  type Precondition,
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
  const other = entityTag({ id: '1', version: 2 })
  const weak = weakEntityTag({ id: '1', version: 1 })

  test('is the same for equal representations only', () => {
    expect(entityTag({ id: '1', version: 1 })).toBe(etag)
    expect(other).not.toBe(etag)
    expect(weak).toBe(`W/${etag}`)
  })

  test.each<[Precondition, string, 'passes' | 'fails']>([
    [{}, etag, 'passes'],
    [{ ifMatch: ' * ' }, etag, 'passes'],
    [{ ifMatch: `${other} , ${etag}` }, etag, 'passes'],
    [{ ifMatch: other }, etag, 'fails'],
    [{ ifMatch: weak }, weak, 'fails'],
    [{ ifNoneMatch: other }, etag, 'passes'],
    [{ ifMatch: etag, ifNoneMatch: etag }, etag, 'fails'],
    [{ ifNoneMatch: etag }, weak, 'fails'],
  ])('under the precondition %j of a change of %s: %s', (precondition, current, outcome) => {
    const thrown = thrownBy(() => checkPrecondition(precondition, current))
    const mismatch = { code: 'CONFLICT.etag.mismatch', details: { etag: current } }
    if (outcome === 'passes') expect(thrown).toBeUndefined()
    else expect(thrown).toMatchObject(mismatch)
  })
})
