import { expect, test } from '@jest/globals'
import { auditItem, auditPut } from '#shared/platform/audit/audit-record.ts'
import type { Actor } from '#shared/platform/identity/caller.ts'
import { movableClock } from '#test/support/clocks.ts'

const source = { correlation: { id: 'c' }, clock: movableClock(0) }
const actor: Actor = { sub: 'u1', tenant: 'acme', role: 'Admin' }
const entry = { action: 'read', target: 'order' }

test.each<[string, Partial<Actor>, object]>([
  [
    'a token',
    { claims: { iss: 'https://issuer.example' } },
    { token_sub: 'u1', issuer: 'https://issuer.example' },
  ],
  ['a token without an issuer', { claims: {} }, { token_sub: 'u1' }],
  ['an API key', { apiKey: 'key-1' }, { token_sub: 'api-key:key-1' }],
])('the record of a caller with %s names its credential', (_, more, expected) => {
  const { token_sub, issuer } = auditItem({ ...actor, ...more }, entry, source)
  expect({ token_sub, ...(issuer !== undefined && { issuer }) }).toEqual(expected)
})

test('a record replaces none', () => {
  expect(auditPut(actor, entry, source).condition).toEqual({ absent: true })
})
