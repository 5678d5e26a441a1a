import { describe, expect, test } from '@jest/globals'
import type { Call } from '#test/faults/faults.ts'
import { useFaultyService } from '#test/faults/faulty-service.ts'
import { outcome } from '#test/support/outcome.ts'
import type { Answer } from '../support/service.ts'
import { longTimeoutSettings } from '../support/settings.ts'
import { admin, type CodeCalls, codeCalls, type Extra, editor, made, stored } from './code-calls.ts'

const settings = {
  ...longTimeoutSettings,
  'codes.duplicate': { softDeletedKeepsCode: false },
}
const service = await useFaultyService({ settings })
const calls = codeCalls(service)

/** Returns calls of the service. `meanwhile` runs before each of their first `times` transactions. */
function withConcurrentChange(times: number, meanwhile: () => Promise<unknown>, always?: Extra): CodeCalls {
  let changing = false
  const change = async () => {
    changing = true
    await meanwhile()
    changing = false
  }
  const isFirst = ({ operation }: Call) => operation === 'TransactWriteItems' && !changing
  service.faults.inject({ when: isFirst, times, fault: { first: change } })
  return codeCalls(service, always)
}

type Act = (of: CodeCalls, tenant: string, id: string) => Promise<Answer>
const acts: Record<string, { act: Act; success: number; deleted: boolean }> = {
  'a hard delete': {
    act: (of, tenant, id) => of.hardDelete(admin(tenant), id, 'requested'),
    success: 204,
    deleted: false,
  },
  'a soft delete': {
    act: (of, tenant, id) => of.softDelete(editor(tenant), id),
    success: 204,
    deleted: false,
  },
  'a restore': { act: (of, tenant, id) => of.restore(editor(tenant), id), success: 200, deleted: true },
}
const kinds = Object.entries(acts)
/** Creates a code in the initial state of an operation. */
async function prepared(tenant: string, deleted: boolean): Promise<string> {
  const { id } = await made(calls, tenant)
  if (deleted) await calls.softDelete(editor(tenant), id)
  return id
}

describe('a change without a tag that conflicts with a concurrent change', () => {
  test.each(kinds)('is decided again: %s', async (kind, { act, success, deleted }) => {
    const tenant = kind.replaceAll(' ', '-')
    const id = await prepared(tenant, deleted)
    let changes = 0
    const rename = () => calls.update(admin(tenant), id, '*', { name: `name ${changes++}` })
    const answer = await act(withConcurrentChange(3, rename), tenant, id)
    expect([answer.status, changes]).toEqual([success, 3])
    const code = await stored(service, tenant, id)
    if (kind === 'a hard delete') expect(code).toBeUndefined()
    else expect(code).toMatchObject({ name: 'name 2', soft_deleted: !deleted })
  })

  test.each(kinds)(
    'of the same kind returns the result for the current code: %s',
    async (kind, { act, deleted }) => {
      const tenant = `twin-${kind.replaceAll(' ', '-')}`
      const id = await prepared(tenant, deleted)
      const answer = await act(
        withConcurrentChange(1, () => act(calls, tenant, id)),
        tenant,
        id,
      )
      const expected = {
        'a hard delete': '404 NOT_FOUND.code',
        'a soft delete': '204',
        'a restore': '409 CONFLICT.not_deleted',
      }
      expect(outcome(answer)).toBe(expected[kind as keyof typeof expected])
    },
  )
})

test('an update is rejected by its tag after a concurrent change', async () => {
  const { id, etag } = await made(calls, 'update')
  const rename = () => calls.update(editor('update'), id, etag, { name: 'First' })
  const answer = await withConcurrentChange(1, rename).update(editor('update'), id, etag, {
    name: 'Second',
  })
  expect(outcome(answer)).toBe('412 CONFLICT.etag.mismatch')
  expect(await stored(service, 'update', id)).toMatchObject({ name: 'First', version: 2 })
})

test('an update with If-Match * is decided again after a concurrent change', async () => {
  const { id } = await made(calls, 'any')
  let changes = 0
  const rename = () => calls.update(editor('any'), id, '*', { name: `name ${changes++}` })
  const expiry_at = '2098-01-01T00:00:00.000Z'
  const answer = await withConcurrentChange(5, rename).update(editor('any'), id, '*', { expiry_at })
  expect([answer.status, answer.json]).toMatchObject([200, { name: 'name 4', expiry_at }])
  expect(await stored(service, 'any', id)).toMatchObject({ name: 'name 4', expiry_at, version: 7 })
})

test('an update with If-Match * of a code that is concurrently hard-deleted returns 404', async () => {
  const { id } = await made(calls, 'removed')
  const remove = () => calls.hardDelete(admin('removed'), id, 'requested')
  const answer = await withConcurrentChange(1, remove).update(editor('removed'), id, '*', {
    name: 'x',
  })
  expect(outcome(answer)).toBe('404 NOT_FOUND.code')
})

test.each(kinds)('%s with a tag that becomes stale before the commit is rejected', async (kind, of) => {
  const tenant = `tag-${kind.replaceAll(' ', '-')}`
  const id = await prepared(tenant, of.deleted)
  const { headers } = await calls.read(editor(tenant), id)
  const rename = () => calls.update(admin(tenant), id, '*', { name: 'Other' })
  const slow = withConcurrentChange(1, rename, { headers: { 'If-Match': headers.ETag ?? '' } })
  expect(outcome(await of.act(slow, tenant, id))).toBe('412 CONFLICT.etag.mismatch')
})

test('a restore whose text is taken before the commit is rejected', async () => {
  const { id } = await made(calls, 'late', { code: 'LATE' })
  await calls.softDelete(editor('late'), id)
  const take = () => made(calls, 'late', { code: 'LATE' })
  const answer = await withConcurrentChange(1, take).restore(editor('late'), id)
  expect(outcome(answer)).toBe('409 CONFLICT.code.exists')
  expect(await stored(service, 'late', id)).toMatchObject({ soft_deleted: true, version: 2 })
})
