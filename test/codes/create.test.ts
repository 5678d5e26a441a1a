import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '../support/service.ts'
import { admin, codeCalls, editor, locks, made, stored, validCode } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

describe('POST /codes', () => {
  test('returns 201 with the stored code, its ETag and its Location', async () => {
    const body = validCode({ code: '  spring-25 ', name: ' Spring sale ' })
    const answer = await calls.create(editor('create'), body)
    expect(answer.status).toBe(201)
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tenant_id: 'create',
      code: 'SPRING-25',
      type: 'percent-10',
      name: 'Spring sale',
      expiry_at: '2099-01-01T00:00:00.000Z',
      created_by: 'Editor-1',
      soft_deleted: false,
      state: 'active',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: answer.json.created_at,
    })
    expect(answer.headers).toMatchObject({
      'Idempotency-Status': 'stored',
      Location: `/codes/${answer.json.id}`,
      ETag: expect.stringMatching(/^"[\w-]+"$/),
    })
    expect(await stored(service, 'create', answer.json.id)).toMatchObject({ ...answer.json, version: 1 })
    expect(await locks(service, 'create')).toEqual({ 'SPRING-25': answer.json.id })
  })

  test('replays the same bytes even if the code is taken and its expiry has passed', async () => {
    let now = Date.parse('2026-05-01T12:00:00Z')
    const clock = { ...systemClock, now: () => now }
    const later = codeCalls(await startService({ clock }))
    const extra = { headers: { 'Idempotency-Key': 'replay' } }
    const body = validCode({ expiry_at: '2026-05-01T12:00:01Z' })
    const first = await later.create(editor('replay'), body, extra)
    now += 60_000
    const replay = await later.create(editor('replay'), body, extra)
    expect([replay.status, replay.body]).toEqual([201, first.body])
    expect(replay.headers).toMatchObject({
      'Idempotency-Status': 'replayed',
      ETag: first.headers.ETag,
      Location: first.headers.Location,
    })
    const respaced = await later.create(editor('replay'), { ...body, code: ` ${body.code} ` }, extra)
    expect([respaced.status, respaced.body]).toEqual([201, first.body])
  })

  test('creates a code in the requested tenant for an Admin, and only in the own tenant for an Editor', async () => {
    const query = { tenant: 'branch' }
    const answer = await calls.create(admin('head'), validCode(), { query })
    expect(answer.json).toMatchObject({ tenant_id: 'branch', created_by: 'Admin-1' })
    expect(await stored(service, 'branch', answer.json.id)).toBeDefined()
    expect(outcome(await calls.create(editor('head'), validCode(), { query }))).toBe('404 AUTHZ.scope.tenant')
    expect(await service.items('branch', 'code')).toHaveLength(1)
  })

  const { code: _code, ...withoutCode } = validCode()
  const { expiry_at: _expiry, ...withoutExpiry } = validCode()
  test.each([
    ['without code', withoutCode, 'VALIDATION.field.required', 'code'],
    ['without expiry_at', withoutExpiry, 'VALIDATION.field.required', 'expiry_at'],
    ['with an unknown type', validCode({ type: 'gift' }), 'VALIDATION.field.enum', 'type'],
    ['with a type of Object', validCode({ type: 'constructor' }), 'VALIDATION.field.enum', 'type'],
    ['with a type of null', validCode({ type: null }), 'VALIDATION.field.type', 'type'],
    ['with an expiry of null', validCode({ expiry_at: null }), 'VALIDATION.field.type', 'expiry_at'],
    ['with a numeric expiry', validCode({ expiry_at: 4070908800 }), 'VALIDATION.field.type', 'expiry_at'],
    ['with a state', validCode({ state: 'draft' }), 'VALIDATION.field.unknown', 'state'],
    ['with a tenant', validCode({ tenant_id: 'x' }), 'VALIDATION.field.unknown', 'tenant_id'],
    ['with a creator', validCode({ created_by: 'x' }), 'VALIDATION.field.unknown', 'created_by'],
    ['with a version', validCode({ version: 9 }), 'VALIDATION.field.unknown', 'version'],
    ['with the key of its lock', validCode({ lock_key: 'OTHER' }), 'VALIDATION.field.unknown', 'lock_key'],
  ])('rejects a body %s and names the field', async (_, body, code, field) => {
    const answer = await calls.create(editor('invalid'), body)
    expect(outcome(answer)).toBe(`400 ${code}`)
    expect(Object.keys(answer.json.error.details.fields)).toEqual([field])
    expect(await service.items('invalid', 'code')).toEqual([])
    expect(await locks(service, 'invalid')).toEqual({})
  })
})

describe('the expiry of a new code', () => {
  const now = Date.parse('2026-05-01T12:00:00.500Z')
  const expiring = async (expiry_at: string) => {
    const clock = { ...systemClock, now: () => now }
    const standing = codeCalls(await startService({ clock, tableName: service.tableName }))
    return standing.create(editor('expiry'), validCode({ expiry_at }))
  }

  test('may be the current time in any time zone, and not earlier', async () => {
    expect(outcome(await expiring('2026-05-01T12:00:00.500Z'))).toBe('201')
    expect(outcome(await expiring('2026-05-01T14:00:00.500+02:00'))).toBe('201')
    for (const past of [
      '2026-05-01T12:00:00.499Z',
      '2026-05-01T13:00:00+02:00',
      '0001-01-01T00:00:00+23:59',
    ]) {
      const answer = await expiring(past)
      expect(outcome(answer)).toBe('400 VALIDATION.date.range')
      expect(answer.json.error.details.fields).toMatchObject({ expiry_at: { reason: 'past' } })
    }
  })
})

describe('the text of a code', () => {
  test('is unique in its tenant regardless of case and surrounding spaces, and free in other tenants', async () => {
    const { id, json } = await made(calls, 'unique', { code: 'ONCE-1' })
    for (const code of ['ONCE-1', 'once-1', ' Once-1\t']) {
      const answer = await calls.create(editor('unique'), validCode({ code }))
      expect(outcome(answer)).toBe('409 CONFLICT.code.exists')
      expect(JSON.stringify(answer)).not.toContain(id)
    }
    expect((await calls.create(editor('unique-too'), validCode({ code: 'ONCE-1' }))).status).toBe(201)
    expect(await service.items('unique', 'code')).toMatchObject([json])
  })

  test('is taken by a deleted code, too, and the error tells the two cases apart', async () => {
    const { id } = await made(calls, 'taken', { code: 'TAKEN' })
    const detailsOf = async () =>
      (await calls.create(editor('taken'), validCode({ code: 'TAKEN' }))).json.error.details
    expect(await detailsOf()).toEqual({ soft_deleted: false })
    await calls.softDelete(editor('taken'), id)
    expect(await detailsOf()).toEqual({ soft_deleted: true })
  })
})
