import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
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

  test('returns 304 for the current ETag, and 200 after a change', async () => {
    const { id, etag } = await made(calls, 'conditional')
    const reread = (given: string) =>
      calls.read(viewer('conditional'), id, { headers: { 'If-None-Match': given } })
    for (const given of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await reread(given)
      expect([answer.status, answer.body, answer.headers.ETag]).toEqual([304, undefined, etag])
    }
    expect((await reread('"other"')).status).toBe(200)
    await calls.update(editor('conditional'), id, etag, { name: 'Other' })
    const changed = await reread(etag)
    expect(changed).toMatchObject({ status: 200, json: { name: 'Other' } })
    await calls.softDelete(editor('conditional'), id)
    expect((await reread(changed.headers.ETag ?? '')).status).toBe(200)
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

  test('requires the scope codes:read', async () => {
    const { id } = await made(calls, 'scoped')
    const answer = await calls.read({ ...viewer('scoped'), scope: 'codes:write' }, id)
    expect(outcome(answer)).toBe('403 AUTHZ.scope.token')
    expect(answer.headers['WWW-Authenticate']).toContain('scope="codes:read"')
  })

  test('treats a code of another tenant as absent, and audits both without an id', async () => {
    const { id } = await made(calls, 'owner')
    const absent = id.replace(/.{4}$/, id.endsWith('0000') ? '1111' : '0000')
    for (const role of [viewer, editor]) {
      const stranger = `stranger-${role('x').role}`
      const headers = { 'X-Correlation-Id': 'same' }
      const answers = [
        await calls.read(role(stranger), id, { headers }),
        await calls.read(role(stranger), absent, { headers }),
      ]
      expect(answers[0]).toEqual(answers[1])
      expect(answers.map(outcome)).toEqual(['404 NOT_FOUND.code', '404 NOT_FOUND.code'])
      const records = await audit(service, stranger)
      expect(records.map(({ reason, result, target }) => [reason, result, target])).toEqual([
        ['AUTHZ.scope.tenant', 'deny', 'code'],
        ['NOT_FOUND.code', 'deny', 'code'],
      ])
      expect(JSON.stringify(records)).not.toMatch(new RegExp(`${id}|owner`))
    }
    expect((await calls.read(admin('head'), id)).json).toMatchObject({ id, tenant_id: 'owner' })
  })

  test.each(['nonsense', 'CODE-1', '00000000-0000-4000-8000-000000000000', 'code%23acme'])(
    'returns 404 for an id that cannot exist (%s)',
    async (id) => {
      expect(outcome(await calls.read(viewer('ids'), id))).toBe('404 NOT_FOUND.code')
      expect(outcome(await calls.softDelete(editor('ids'), id))).toBe('404 NOT_FOUND.code')
      expect(outcome(await calls.update(editor('ids'), id, '*', { name: 'x' }))).toBe('404 NOT_FOUND.code')
    },
  )
})

describe('an action after the id of a code', () => {
  test.each([':frob', ':Restore', ':restored', ':'])(
    'that is %j returns the 404 of an unknown route, in the envelope',
    async (verb) => {
      const { id, json } = await made(calls, 'verbs')
      const answer = await calls.send('POST', `/codes/${id}${verb}`, admin('verbs'), {}, {})
      expect([answer.status, answer.json]).toEqual([
        404,
        {
          error: {
            code: 'NOT_FOUND.route',
            message_id: 'error.not_found.route',
            http: 404,
            retryable: false,
            correlation_id: answer.headers['X-Correlation-Id'],
            details: {},
          },
        },
      ])
      expect((await calls.read(viewer('verbs'), id)).json).toEqual(json)
    },
  )

  test.each([
    ['POST', '', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    ['GET', ':restore', 'OPTIONS, POST'],
    ['HEAD', ':restore', 'OPTIONS, POST'],
    ['PATCH', ':restore', 'OPTIONS, POST'],
    ['PUT', ':share', 'OPTIONS, POST'],
    ['DELETE', ':share', 'OPTIONS, POST'],
  ])(
    'is no %s of %j, which returns 405 with the methods of exactly this path',
    async (method, verb, allow) => {
      const { id, json } = await made(calls, 'methods')
      const answer = await calls.send(method, `/codes/${id}${verb}`, admin('methods'))
      expect(outcome(answer)).toBe('405 VALIDATION.method.not_allowed')
      expect(answer.headers.Allow).toBe(allow)
      expect(answer.json.error.details).toEqual({ supported: allow.split(', ') })
      expect((await calls.read(viewer('methods'), id)).json).toEqual(json)
    },
  )

  test('is the last one, and everything before it is the id', async () => {
    const { id } = await made(calls, 'verbs')
    expect(outcome(await calls.restore(editor('verbs'), `${id}:restore`))).toBe('404 NOT_FOUND.code')
    expect(outcome(await calls.share(editor('verbs'), '', 'verbs'))).toBe('404 NOT_FOUND.code')
  })
})
