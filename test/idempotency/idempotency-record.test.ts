import { describe, expect, test } from '@jest/globals'
import {
  asIdempotencyRecord,
  type FinishedRecord,
  fingerprint,
  finishedRecord,
  pendingRecord,
  recordKey,
  storedResponse,
} from '#shared/platform/idempotency/idempotency-record.ts'

const keyed = {
  key: { pk: 'idempotency#x', sk: 'record' },
  payloadHash: 'hash',
  firstUsedAt: '2026-03-01T12:00:00.000Z',
  expiresAt: 1000,
  tenant: 'acme',
}
const lease = { lease_id: 'lease', lease_until: 5 }
const response = (body: string | undefined) => ({ status: 201, headers: { ETag: '"1"' }, body })

describe('the fingerprint of a payload', () => {
  test.each<[string, unknown, unknown]>([
    ['the order of its members', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['the order of members within an array', [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
    ['an undefined value as null', [undefined], [null]],
  ])('does not depend on %s', (_, one, other) => {
    expect(fingerprint(one)).toBe(fingerprint(other))
  })

  test.each<[string, unknown, unknown]>([
    ['values', { a: 1 }, { a: 2 }],
    ['names', { a: 1 }, { b: 1 }],
    ['types', { a: 1 }, { a: '1' }],
    ['the order of an array', [1, 2], [2, 1]],
    ['an array and an object', ['a'], { 0: 'a' }],
    ['null and an empty object', null, {}],
    ['joined members', ['a', 'b'], ['a,b']],
  ])('differs by %s', (_, one, other) => {
    expect(fingerprint(one)).not.toBe(fingerprint(other))
  })

  test('stays the same in later releases', () => {
    const payload = { b: [1, null, 'x'], a: { d: true, c: 2 } }
    expect(fingerprint(payload)).toBe('x4PXIN05325FPBe_ajfkzO9Sj1qNtJ7K7YPEpyr2naw')
  })
})

describe('the key of a record', () => {
  const key = (...parts: string[]) => recordKey(...(parts as [string, string, string, string])).pk

  test.each([
    ['tenant', ['other', 'u1', 'POST /pay', 'k']],
    ['principal', ['acme', 'u2', 'POST /pay', 'k']],
    ['route', ['acme', 'u1', 'POST /refund', 'k']],
    ['Idempotency-Key', ['acme', 'u1', 'POST /pay', 'l']],
  ])('is unique to its %s', (_, parts) => {
    expect(key(...parts)).not.toBe(key('acme', 'u1', 'POST /pay', 'k'))
  })

  test('contains none of them', () => {
    expect(key('acme', 'u1', 'POST /pay', 'k')).toMatch(/^idempotency#[\w-]{43}$/)
  })
})

describe('a stored response', () => {
  const stored = (body: string | undefined) =>
    asIdempotencyRecord(finishedRecord(keyed, response(body), 'complete')) as FinishedRecord

  test.each([
    ['without a body', undefined],
    ['with an empty body', ''],
    ['with a short body', 'x'.repeat(4095)],
    ['with a long body', 'é'.repeat(4096)],
  ])('%s is returned byte for byte', (_, body) => {
    expect(storedResponse(stored(body))).toEqual(response(body))
  })

  test('is compressed from 4096 characters on', () => {
    expect(stored('x'.repeat(4095))).not.toHaveProperty('packed_body')
    expect(stored('x'.repeat(4096)).packed_body?.length).toBeLessThan(100)
    expect(stored('x'.repeat(4096))).not.toHaveProperty('body')
  })

  test('has no body attribute without a body', () => {
    expect(stored(undefined)).toEqual({
      ...keyed.key,
      payload_hash: 'hash',
      first_used_at: keyed.firstUsedAt,
      expires_at: 1000,
      state: 'complete',
      status: 201,
      headers: { ETag: '"1"' },
    })
  })
})

describe('a pending record', () => {
  test('of a saga that its caller finishes expires like any other', () => {
    expect(pendingRecord(keyed, { state: { id: 1 } }, lease)).toEqual({
      ...keyed.key,
      payload_hash: 'hash',
      first_used_at: keyed.firstUsedAt,
      expires_at: 1000,
      state: 'pending',
      saga: { state: { id: 1 } },
      ...lease,
    })
  })

  test('of a saga that the service finishes lives 30 days longer', () => {
    const { expires_at, saga } = pendingRecord(keyed, { state: {}, entry: 'e' }, lease)
    expect(expires_at).toBe(1000 + 30 * 24 * 3600)
    expect(saga).toEqual({ state: {}, entry: 'e' })
  })
})
