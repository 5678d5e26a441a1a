import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, startService } from '../support/service.ts'
import { admin, codeCalls, editor, made, stored } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

type Act = (tenant: string, id: string, tag: string, header?: string) => Promise<Answer>
const acts: Record<string, { act: Act; success: number; deleted?: true }> = {
  'a soft delete': {
    act: (tenant, id, tag, header = 'If-Match') =>
      calls.softDelete(editor(tenant), id, { headers: { [header]: tag } }),
    success: 204,
  },
  'a hard delete': {
    act: (tenant, id, tag, header = 'If-Match') =>
      calls.hardDelete(admin(tenant), id, 'requested', { headers: { [header]: tag } }),
    success: 204,
  },
  'a restore': {
    act: (tenant, id, tag, header = 'If-Match') =>
      calls.restore(editor(tenant), id, { headers: { [header]: tag } }),
    success: 200,
    deleted: true,
  },
  'a share': {
    act: (tenant, id, tag, header = 'If-Match') =>
      calls.share(editor(tenant), id, tenant, { headers: { [header]: tag } }),
    success: 200,
  },
}
const kinds = Object.entries(acts)

/** Creates a code whose first tag is stale, in the initial state of the operation. */
async function changed(kind: string, deleted = false) {
  const tenant = kind.replaceAll(' ', '-')
  const { id, etag: stale } = await made(calls, tenant)
  await calls.update(editor(tenant), id, stale, { name: 'Other' })
  if (deleted) await calls.softDelete(editor(tenant), id)
  const { headers } = await calls.read(editor(tenant), id)
  return { tenant, id, stale, current: headers.ETag ?? '' }
}

describe('an optional If-Match', () => {
  test.each(kinds)('rejects %s with a stale tag', async (kind, { act, deleted }) => {
    const { tenant, id, stale, current } = await changed(kind, deleted)
    const before = await stored(service, tenant, id)
    for (const tag of [stale, `W/${current}`, `"*"`]) {
      expect(outcome(await act(tenant, id, tag))).toBe('412 CONFLICT.etag.mismatch')
    }
    expect(await stored(service, tenant, id)).toEqual(before)
  })

  test.each(kinds)('permits %s with the current tag', async (kind, { act, success, deleted }) => {
    const { tenant, id, current } = await changed(kind, deleted)
    expect((await act(tenant, id, current)).status).toBe(success)
  })

  test('of a list, whose tag is weak, is met by * only', async () => {
    const path = '/codes'
    const { headers } = await calls.send('GET', path, editor('weak'))
    const tags = [headers.ETag ?? '', (headers.ETag ?? '').slice(2), '*']
    const answers = await Promise.all(
      tags.map((tag) => calls.send('GET', path, editor('weak'), { headers: { 'If-Match': tag } })),
    )
    expect(answers.map(({ status }) => status)).toEqual([412, 412, 200])
  })

  test('rejects a repeated soft delete with a stale tag', async () => {
    const { tenant, id, current } = await changed('repeated', true)
    const again = (ifMatch: string) =>
      calls.softDelete(editor(tenant), id, { headers: { 'If-Match': ifMatch } })
    expect(outcome(await again('"stale"'))).toBe('412 CONFLICT.etag.mismatch')
    expect((await again(current)).status).toBe(204)
  })

  test('with the current tag leaves the same item as a soft delete without one', async () => {
    const [one, other] = [await made(calls, 'alike'), await made(calls, 'alike')]
    await calls.softDelete(editor('alike'), one.id, { headers: { 'If-Match': one.etag } })
    await calls.softDelete(editor('alike'), other.id)
    const own = { sk: '', id: '', code: '', created_at: '', updated_at: '' }
    const [tagged, plain] = await Promise.all([one, other].map(({ id }) => stored(service, 'alike', id)))
    expect({ ...tagged, ...own }).toEqual({ ...plain, ...own })
  })
})

const update: Act = (tenant, id, tag, header = 'If-None-Match') =>
  calls.update(editor(tenant), id, '*', { name: 'x' }, { headers: { [header]: tag } })
const changes = [...kinds, ['an update', { act: update, success: 200 }] as (typeof kinds)[number]]

describe('If-None-Match', () => {
  test.each(changes)(
    'rejects %s with the current tag, also a weak one, and with *',
    async (kind, { act, deleted }) => {
      const { tenant, id, current } = await changed(`none ${kind}`, deleted)
      const before = await stored(service, tenant, id)
      for (const tag of [current, `"other", W/${current}`, '*']) {
        expect(outcome(await act(tenant, id, tag, 'If-None-Match'))).toBe('412 CONFLICT.etag.mismatch')
      }
      expect(await stored(service, tenant, id)).toEqual(before)
    },
  )
})

describe('a soft delete', () => {
  test('advances updated_at even if the clock of the last writer was ahead', async () => {
    let now = Date.parse('2026-05-01T12:00:00.000Z')
    const standing = await startService({ clock: { ...systemClock, now: () => now } })
    const { id } = await made(codeCalls(standing), 'clock')
    now -= 5000
    await codeCalls(standing).softDelete(editor('clock'), id)
    expect(await stored(standing, 'clock', id)).toMatchObject({
      soft_deleted: true,
      updated_at: '2026-05-01T12:00:00.001Z',
    })
  })
})
