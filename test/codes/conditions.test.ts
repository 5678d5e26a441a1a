import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '../support/service.ts'
import { codeCalls, editor, made, stored } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

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
    const { id, etag } = await made(calls, 'repeated')
    await calls.softDelete(editor('repeated'), id)
    const { headers } = await calls.read(editor('repeated'), id)
    const again = (tag = '') => calls.softDelete(editor('repeated'), id, { headers: { 'If-Match': tag } })
    expect(outcome(await again(etag))).toBe('412 CONFLICT.etag.mismatch')
    expect((await again(headers.ETag)).status).toBe(204)
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
