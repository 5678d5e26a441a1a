import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { admin, audit, editor, locks, made, seeded, stored, validCode, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

const listed = async (tenant: string, query = {}, role = admin) =>
  (await calls.list(role(tenant), query)).json.data.map(({ id }: { id: string }) => id)

describe('a soft delete', () => {
  test('returns 204 without a body; lists omit the code, except for roles that see deleted codes', async () => {
    const { id, json } = await made(calls, 'soft')
    const kept = await made(calls, 'soft')
    const answer = await calls.softDelete(editor('soft'), id)
    expect([answer.status, answer.body, answer.headers['Content-Type']]).toEqual([204, undefined, undefined])
    expect(await listed('soft')).toEqual([kept.id])
    expect(await listed('soft', { code: json.code })).toEqual([])
    expect(await listed('soft', { include_deleted: 'true' })).toEqual([kept.id, id])
    expect(outcome(await calls.list(editor('soft'), { include_deleted: 'true' }))).toBe(
      '403 AUTHZ.filter.denied',
    )
    const item = await stored(service, 'soft', id)
    expect(String(item?.updated_at) > json.updated_at).toBe(true)
    expect(item).toEqual({
      pk: expect.any(String),
      sk: id,
      ...json,
      state: 'soft_deleted',
      soft_deleted: true,
      state_before_delete: 'active',
      updated_at: expect.any(String),
      version: 2,
    })
    expect(await locks(service, 'soft')).toMatchObject({ [json.code]: id })
  })

  test('returns 204 and changes nothing if repeated, with force=false or with another key', async () => {
    const { id } = await made(calls, 'again')
    const first = { headers: { 'Idempotency-Key': 'delete-1' } }
    expect((await calls.softDelete(editor('again'), id, first)).headers['Idempotency-Status']).toBe('stored')
    const before = await stored(service, 'again', id)
    for (const extra of [
      {},
      first,
      { headers: { 'Idempotency-Key': 'delete-2' } },
      { query: { force: 'false' } },
    ]) {
      const repeated = await calls.softDelete(editor('again'), id, extra)
      expect([repeated.status, repeated.body]).toEqual([204, undefined])
    }
    expect(await stored(service, 'again', id)).toEqual(before)
    expect(await audit(service, 'again')).toHaveLength(1)
  })

  test('is permitted to Editors of the tenant and all Admins; for others the code is absent', async () => {
    const { id } = await made(calls, 'owner')
    expect(outcome(await calls.softDelete(viewer('owner'), id))).toBe('403 AUTHZ.role.denied')
    const reader = { ...editor('owner'), scope: 'codes:read' }
    expect(outcome(await calls.softDelete(reader, id))).toBe('403 AUTHZ.scope.token')
    const headers = { 'X-Correlation-Id': 'same' }
    const absent = id.replace(/.{4}$/, id.endsWith('0000') ? '1111' : '0000')
    const foreign = await calls.softDelete(editor('stranger'), id, { headers })
    expect(foreign).toEqual(await calls.softDelete(editor('stranger'), absent, { headers }))
    expect(outcome(foreign)).toBe('404 NOT_FOUND.code')
    expect(JSON.stringify(await audit(service, 'stranger'))).not.toMatch(new RegExp(`${id}|owner`))
    expect(await stored(service, 'owner', id)).toMatchObject({ soft_deleted: false, version: 1 })
    expect((await calls.softDelete(admin('head'), id)).status).toBe(204)
    expect(await stored(service, 'owner', id)).toMatchObject({ soft_deleted: true, version: 2 })
    expect((await calls.softDelete(admin('head'), id, { query: { tenant: 'owner' } })).status).toBe(204)
    expect(await service.items('head', 'code')).toEqual([])
  })

  test('stores the state for a later restore', async () => {
    const { id } = await seeded(service, 'kept-state', { state: 'archived' })
    await calls.softDelete(editor('kept-state'), id)
    await calls.softDelete(editor('kept-state'), id)
    expect(await stored(service, 'kept-state', id)).toMatchObject({
      state: 'soft_deleted',
      state_before_delete: 'archived',
    })
  })
})

describe('a hard delete', () => {
  test.each([
    ['live', false],
    ['soft-deleted', true],
  ])('of a %s code removes it from reads, lists and uniqueness locks', async (tenant, softly) => {
    const { id, json } = await made(calls, tenant)
    if (softly) await calls.softDelete(editor(tenant), id)
    const answer = await calls.hardDelete(admin(tenant), id, 'made by mistake')
    expect([answer.status, answer.body]).toEqual([204, undefined])
    expect(await service.items(tenant, 'code')).toEqual([])
    expect(await locks(service, tenant)).toEqual({})
    for (const query of [{}, { include_deleted: 'true' }, { deleted: 'true' }, { id }, { code: json.code }]) {
      expect(await listed(tenant, query)).toEqual([])
    }
    const reason = 'once more'
    for (const later of [
      await calls.read(viewer(tenant), id),
      await calls.update(admin(tenant), id, '*', { name: 'x' }),
      await calls.softDelete(editor(tenant), id),
      await calls.restore(editor(tenant), id),
      await calls.share(editor(tenant), id, tenant),
      await calls.hardDelete(admin(tenant), id, reason),
    ]) {
      expect(outcome(later)).toBe('404 NOT_FOUND.code')
    }
  })

  test('frees the text for another code', async () => {
    const { id } = await made(calls, 'freed', { code: 'FREED' })
    await calls.hardDelete(admin('freed'), id, 'made by mistake')
    const again = await calls.create(editor('freed'), validCode({ code: 'freed' }))
    expect(again.status).toBe(201)
    expect(again.json.id).not.toBe(id)
    expect(await locks(service, 'freed')).toEqual({ FREED: again.json.id })
  })

  test('is permitted to Admins only, in any tenant', async () => {
    const { id } = await made(calls, 'hard-owner')
    for (const role of [viewer, editor]) {
      const answer = await calls.hardDelete(role('hard-owner'), id, 'made by mistake')
      expect(outcome(answer)).toBe('403 AUTHZ.role.denied')
    }
    const query = { tenant: 'other' }
    const elsewhere = await calls.hardDelete(admin('head'), id, 'made by mistake', { query })
    expect(outcome(elsewhere)).toBe('404 NOT_FOUND.code')
    expect(await stored(service, 'hard-owner', id)).toMatchObject({ version: 1 })
    expect((await calls.hardDelete(admin('head'), id, 'made by mistake')).status).toBe(204)
    expect(await service.items('hard-owner', 'code')).toEqual([])
  })

  test.each([
    ['no reason', undefined, 'VALIDATION.reason.required'],
    ['an empty reason', '', 'VALIDATION.reason.required'],
    ['spaces', '   ', 'VALIDATION.reason.required'],
    ['an overlong reason', 'x'.repeat(513), 'VALIDATION.header.invalid'],
    ['a control character in the reason', 'a\u0007b', 'VALIDATION.header.invalid'],
  ])('with %s is rejected and deletes nothing', async (_, reason, code) => {
    const { id } = await made(calls, 'reasons')
    const answer = await calls.hardDelete(admin('reasons'), id, reason)
    expect(outcome(answer)).toBe(`400 ${code}`)
    expect(Object.keys(answer.json.error.details.fields)).toEqual(['X-Audit-Log-Reason'])
    expect(await stored(service, 'reasons', id)).toMatchObject({ soft_deleted: false, version: 1 })
  })

  test('accepts a reason of 512 characters', async () => {
    const { id } = await made(calls, 'long-reason')
    expect((await calls.hardDelete(admin('long-reason'), id, ` ${'x'.repeat(512)} `)).status).toBe(204)
    expect(await audit(service, 'long-reason')).toMatchObject([{ reason: 'x'.repeat(512) }])
  })
})

describe('the parameter force', () => {
  test.each(['yes', 'TRUE', '1', '', 'true '])('rejects %j', async (force) => {
    const { id } = await made(calls, 'force')
    const answer = await calls.hardDelete(admin('force'), id, 'made by mistake', { query: { force } })
    expect(outcome(answer)).toBe('400 VALIDATION.field.enum')
    const facts = { reason: 'not_allowed', allowed: ['false', 'true'], actual: force.length }
    expect(answer.json.error.details.fields).toEqual({ force: { code: 'VALIDATION.field.enum', ...facts } })
    expect(await stored(service, 'force', id)).toMatchObject({ version: 1 })
  })

  test.each(['force=true&force=true', 'force=true&force=false', 'force=false&force=true'])(
    'rejects repetitions (%s) and deletes nothing',
    async (query) => {
      const { id } = await made(calls, 'force')
      const headers = { 'X-Audit-Log-Reason': 'made by mistake' }
      const answer = await calls.send('DELETE', `/codes/${id}?${query}`, admin('force'), { headers })
      expect(outcome(answer)).toBe('400 VALIDATION.field.format')
      expect(answer.json.error.details.fields).toMatchObject({ force: { reason: 'repeated' } })
      expect(await stored(service, 'force', id)).toMatchObject({ version: 1 })
    },
  )

  test('is part of the payload to which a key is bound', async () => {
    const first = await made(calls, 'keys')
    const extra = (key: string) => ({ headers: { 'Idempotency-Key': key } })
    expect((await calls.softDelete(admin('keys'), first.id, extra('one'))).status).toBe(204)
    const forced = await calls.hardDelete(admin('keys'), first.id, 'made by mistake', extra('one'))
    expect(outcome(forced)).toBe('409 CONFLICT.idempotency.payload_mismatch')
    expect(await stored(service, 'keys', first.id)).toMatchObject({ soft_deleted: true, version: 2 })

    const second = await made(calls, 'keys')
    expect((await calls.hardDelete(admin('keys'), second.id, 'one reason', extra('two'))).status).toBe(204)
    const softly = await calls.softDelete(admin('keys'), second.id, extra('two'))
    expect(outcome(softly)).toBe('409 CONFLICT.idempotency.payload_mismatch')
    const otherReason = await calls.hardDelete(admin('keys'), second.id, 'another', extra('two'))
    expect(outcome(otherReason)).toBe('409 CONFLICT.idempotency.payload_mismatch')
    const replay = await calls.hardDelete(admin('keys'), second.id, 'one reason', extra('two'))
    expect(replay).toMatchObject({ status: 204, headers: { 'Idempotency-Status': 'replayed' } })
  })
})
