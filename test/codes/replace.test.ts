import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { audit, editor, made, stored } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

const expiry_at = '2098-01-01T00:00:00.000Z'
const whole = { name: 'Whole', expiry_at }
const replace = (tenant: string, id: string, ifMatch: string | undefined, body: unknown, who = editor) =>
  calls.send('PUT', `/codes/${id}`, who(tenant), { headers: ifMatch ? { 'If-Match': ifMatch } : {} }, body)

describe('PUT /codes/{id}', () => {
  test('sets both fields, and its audit record is that of an update', async () => {
    const { id, etag, json } = await made(calls, 'put')
    const answer = await replace('put', id, etag, whole)
    expect([answer.status, answer.json]).toEqual([
      200,
      { ...json, ...whole, updated_at: answer.json.updated_at },
    ])
    expect(answer.headers.ETag).not.toBe(etag)
    expect((await audit(service, 'put')).map(({ action }) => action)).toEqual(['update'])
  })

  test.each([
    [{ expiry_at }, 'name'],
    [{ name: 'Half' }, 'expiry_at'],
  ])('rejects %j, which lacks %s', async (body, field) => {
    const { id, etag } = await made(calls, 'half')
    const answer = await replace('half', id, etag, body)
    expect(outcome(answer)).toBe('400 VALIDATION.field.required')
    expect(Object.keys(answer.json.error.details.fields)).toEqual([field])
  })

  test('rejects a field that cannot change', async () => {
    const { id, etag } = await made(calls, 'guarded')
    const answer = await replace('guarded', id, etag, { ...whole, code: 'OTHER' })
    expect(outcome(answer)).toBe('403 AUTHZ.field.denied')
    expect(await stored(service, 'guarded', id)).toMatchObject({ version: 1 })
  })
})
