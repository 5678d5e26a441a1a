import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { type Identity, localSettings } from '#test/support/settings.ts'
import { admin, audit, editor, made, seeded, viewer } from './code-calls.ts'
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

describe('the filter tenant_id', () => {
  const listed = async (as: Identity, query: Record<string, string>) => {
    const answer = await calls.list(as, query)
    return [outcome(answer), answer.json.data?.map(({ id }: { id: string }) => id)]
  }

  test('is answered like the parameter tenant', async () => {
    const [own, other] = [await made(calls, 'own-tenant'), await made(calls, 'other-tenant')]
    for (const name of ['tenant', 'tenant_id']) {
      expect(await listed(viewer('own-tenant'), { [name]: 'own-tenant' })).toEqual(['200', [own.id]])
      expect(await listed(admin('own-tenant'), { [name]: 'other-tenant' })).toEqual(['200', [other.id]])
      const refused = await calls.list(editor('own-tenant'), { [name]: 'other-tenant' })
      expect(outcome(refused)).toBe('404 AUTHZ.scope.tenant')
      const denied = { action: 'codes.list', target: 'codes', result: 'deny', reason: 'AUTHZ.scope.tenant' }
      expect((await audit(service, 'own-tenant')).at(-1)).toMatchObject(denied)
    }
  })

  test('names the same tenant as the parameter tenant', async () => {
    const both = (tenant_id: string) => listed(admin('own-tenant'), { tenant: 'other-tenant', tenant_id })
    expect(await both('other-tenant')).toMatchObject(['200', {}])
    expect(await both('own-tenant')).toEqual(['400 VALIDATION.filter.value_invalid', undefined])
    const foreign = await calls.list(editor('own-tenant'), {
      tenant: 'own-tenant',
      tenant_id: 'other-tenant',
    })
    expect(outcome(foreign)).toBe('404 AUTHZ.scope.tenant')
  })
})
