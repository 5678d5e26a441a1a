import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { admin, editor, made, seeded, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

describe('GET /codes/{id}', () => {
  test('returns the created code to every role of the tenant', async () => {
    const { id, etag, json } = await made(calls, 'read')
    for (const role of [viewer, editor, admin]) {
      const answer = await calls.read(role('read'), id)
      expect([answer.status, answer.json, answer.headers.ETag]).toEqual([200, json, etag])
    }
  })

  test('has another ETag with other fields, which an update accepts', async () => {
    const { id, etag } = await made(calls, 'fields')
    const settings = { ...localSettings, 'codes.fields': ['version' as const] }
    const other = await startService({ settings, tableName: service.tableName })
    const path = `/codes/${id}`
    const read = await other.call({ path, as: viewer('fields'), headers: { 'If-None-Match': etag } })
    expect([read.status, read.json.version]).toEqual([200, 1])
    const update = (tag = '') =>
      other.call({
        method: 'PATCH',
        path,
        as: editor('fields'),
        headers: { 'If-Match': tag },
        body: { name: 'Other' },
      })
    expect(outcome(await update(`W/${read.headers.ETag}`))).toBe('412 CONFLICT.etag.mismatch')
    expect((await update(read.headers.ETag)).status).toBe(200)
  })

  test('returns a soft-deleted code as such, to a Viewer too', async () => {
    const { id, etag, json } = await made(calls, 'deleted')
    await calls.softDelete(editor('deleted'), id)
    const answer = await calls.read(viewer('deleted'), id)
    expect(answer.json).toEqual({
      ...json,
      soft_deleted: true,
      state: 'soft_deleted',
      updated_at: answer.json.updated_at,
    })
    expect(answer.headers.ETag).not.toBe(etag)
  })

  test.each(['draft', 'archived'] as const)(
    'shows that a code is %s, without its stored form',
    async (state) => {
      const { version: _, ...shown } = await seeded(service, 'states', { state })
      expect((await calls.read(viewer('states'), shown.id)).json).toEqual(shown)
    },
  )
})

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
