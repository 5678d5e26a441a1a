import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { admin, audit, editor, made, stored, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

describe('If-Match of an update', () => {
  test.each([[undefined], [''], ['  ']])('is missing if it is %j, which is rejected', async (given) => {
    const { id } = await made(calls, 'matching')
    const answer = await calls.update(editor('matching'), id, given, { name: 'x' })
    expect(outcome(answer)).toBe('428 VALIDATION.if_match.required')
    expect(answer.json.error.details.fields).toMatchObject({ 'If-Match': { reason: 'required' } })
  })

  test('accepts the current tag, alone or in a list, and *', async () => {
    const { id, etag } = await made(calls, 'matching')
    let current = etag
    for (const given of [
      (tag: string) => tag,
      (tag: string) => `"other", ${tag}`,
      (tag: string) => `${tag},"other"`,
      (tag: string) => ` ${tag} `,
      () => '*',
    ]) {
      const answer = await calls.update(editor('matching'), id, given(current), { name: 'x' })
      expect(answer.status).toBe(200)
      current = answer.headers.ETag ?? ''
    }
  })

  test('rejects a tag that is stale, weak, malformed or of another code', async () => {
    const { id, etag: stale } = await made(calls, 'matching')
    const other = await made(calls, 'matching')
    const { headers } = await calls.update(editor('matching'), id, stale, { name: 'x' })
    const current = headers.ETag ?? ''
    const bare = current.slice(1, -1)
    for (const given of [stale, `W/${current}`, other.etag, bare, `"${bare}`, `"${stale}, *"`, '"*"', ',']) {
      const answer = await calls.update(editor('matching'), id, given, { name: 'y' })
      expect([given, outcome(answer)]).toEqual([given, '412 CONFLICT.etag.mismatch'])
    }
    expect(await stored(service, 'matching', id)).toMatchObject({ name: 'x', version: 2 })
  })
})

describe('an update', () => {
  test('is denied to a Viewer, and to a token without codes:write', async () => {
    const { id, etag } = await made(calls, 'denied')
    expect(outcome(await calls.update(viewer('denied'), id, etag, { name: 'x' }))).toBe(
      '403 AUTHZ.role.denied',
    )
    const reader = { ...editor('denied'), scope: 'codes:read' }
    expect(outcome(await calls.update(reader, id, etag, { name: 'x' }))).toBe('403 AUTHZ.scope.token')
    expect(await stored(service, 'denied', id)).toMatchObject({ version: 1 })
  })

  test('is permitted to an Admin in every tenant, with and without naming the tenant', async () => {
    const { id } = await made(calls, 'reached')
    const far = admin('head')
    expect((await calls.update(far, id, '*', { name: 'one' })).json).toMatchObject({ tenant_id: 'reached' })
    const query = { tenant: 'reached' }
    expect((await calls.update(far, id, '*', { name: 'two' }, { query })).json.name).toBe('two')
    const elsewhere = await calls.update(far, id, '*', { name: 'three' }, { query: { tenant: 'other' } })
    expect(outcome(elsewhere)).toBe('404 NOT_FOUND.code')
    expect(await stored(service, 'reached', id)).toMatchObject({ name: 'two', version: 3 })
    expect(await service.items('head', 'code')).toEqual([])
  })

  test('treats the code as absent for an Editor of another tenant, even with the current tag', async () => {
    const { id, etag } = await made(calls, 'owner')
    const headers = { 'X-Correlation-Id': 'same' }
    const absent = id.replace(/.{4}$/, id.endsWith('0000') ? '1111' : '0000')
    const answers = await Promise.all(
      [id, absent].map((one) => calls.update(editor('stranger'), one, etag, { name: 'x' }, { headers })),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(answers.map(outcome)).toEqual(['404 NOT_FOUND.code', '404 NOT_FOUND.code'])
    expect(JSON.stringify(await audit(service, 'stranger'))).not.toMatch(new RegExp(`${id}|owner`))
    expect(await audit(service, 'owner')).toEqual([])
  })
})
