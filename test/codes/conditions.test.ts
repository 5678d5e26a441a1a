import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, startService } from '../support/service.ts'
import { admin, codeCalls, editor, made, stored } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

interface Kind {
  act(tenant: string, id: string, headers?: Record<string, string>): Promise<Answer>
  success: number
  deleted?: true
}
const kinds: Record<string, Kind> = {
  'an update': {
    act: (tenant, id, headers = {}) => calls.update(editor(tenant), id, '*', { name: 'x' }, { headers }),
    success: 200,
  },
  'a soft delete': {
    act: (tenant, id, headers = {}) => calls.softDelete(editor(tenant), id, { headers }),
    success: 204,
  },
  'a hard delete': {
    act: (tenant, id, headers = {}) => calls.hardDelete(admin(tenant), id, 'requested', { headers }),
    success: 204,
  },
  'a restore': {
    act: (tenant, id, headers = {}) => calls.restore(editor(tenant), id, { headers }),
    success: 200,
    deleted: true,
  },
  'a share': {
    act: (tenant, id, headers = {}) => calls.share(editor(tenant), id, tenant, { headers }),
    success: 200,
  },
}

/** Creates a code whose first tag is stale, in the initial state of the operation. */
async function changed(kind: string, deleted = false) {
  const tenant = kind.replaceAll(' ', '-')
  const { id, etag: stale } = await made(calls, tenant)
  await calls.update(editor(tenant), id, stale, { name: 'Other' })
  if (deleted) await calls.softDelete(editor(tenant), id)
  const { headers } = await calls.read(editor(tenant), id)
  return { tenant, id, stale, current: headers.ETag ?? '' }
}

const mismatch = '412 CONFLICT.etag.mismatch'

test.each(Object.entries(kinds))(
  '%s needs the current tag in If-Match, and another one in If-None-Match',
  async (kind, { act, success, deleted }) => {
    const { tenant, id, stale, current } = await changed(kind, deleted)
    const before = await stored(service, tenant, id)
    expect(outcome(await act(tenant, id, { 'If-Match': stale }))).toBe(mismatch)
    expect(outcome(await act(tenant, id, { 'If-None-Match': current }))).toBe(mismatch)
    expect(await stored(service, tenant, id)).toEqual(before)
    const headers = { 'If-Match': current, 'If-None-Match': stale }
    expect((await act(tenant, id, headers)).status).toBe(success)
  },
)

test('If-Match of a list, whose tag is weak, is met by * only', async () => {
  const { headers } = await calls.list(editor('weak'))
  const { ETag: tag = '' } = headers
  const answers = await Promise.all(
    [tag, tag.slice(2), '*'].map((one) =>
      calls.send('GET', '/codes', editor('weak'), { headers: { 'If-Match': one } }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([412, 412, 200])
})

describe('a soft delete', () => {
  test('that is repeated with a stale tag is rejected', async () => {
    const { tenant, id, current } = await changed('repeated', true)
    const again = (ifMatch: string) =>
      calls.softDelete(editor(tenant), id, { headers: { 'If-Match': ifMatch } })
    expect(outcome(await again('"stale"'))).toBe(mismatch)
    expect((await again(current)).status).toBe(204)
  })

  test('with the current tag leaves the same item as one without', async () => {
    const [one, other] = [await made(calls, 'alike'), await made(calls, 'alike')]
    await calls.softDelete(editor('alike'), one.id, { headers: { 'If-Match': one.etag } })
    await calls.softDelete(editor('alike'), other.id)
    const own = { sk: '', id: '', code: '', created_at: '', updated_at: '' }
    const [tagged, plain] = await Promise.all([one, other].map(({ id }) => stored(service, 'alike', id)))
    expect({ ...tagged, ...own }).toEqual({ ...plain, ...own })
  })

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
