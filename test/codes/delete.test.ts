import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { admin, audit, codeCalls, editor, locks, made, stored, viewer } from './code-calls.ts'
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
})

describe('the reason of a permanent deletion', () => {
  test.each(['no \u202emistake', 'no\u200b mistake', 'no\u2028mistake', 'no\u0007 mistake'])(
    'is refused with an unseen character: %j',
    async (reason) => {
      const { id } = await made(calls, 'unseen')
      const answer = await calls.hardDelete(admin('unseen'), id, reason)
      expect(outcome(answer)).toBe('400 VALIDATION.header.invalid')
      const [field]: { reason: string; regex: string }[] = Object.values(answer.json.error.details.fields)
      expect(field?.reason).toBe('charset')
      expect(RegExp(field?.regex ?? '', 'u').test(reason)).toBe(false)
      expect(RegExp(field?.regex ?? '', 'u').test('ein großer Irrtum 😀')).toBe(true)
    },
  )
})

describe('the parameter force', () => {
  test.each(['TRUE', '', 'true '])('rejects %j', async (force) => {
    const { id } = await made(calls, 'force')
    const answer = await calls.hardDelete(admin('force'), id, 'made by mistake', { query: { force } })
    expect(outcome(answer)).toBe('400 VALIDATION.field.enum')
    const facts = { reason: 'not_allowed', allowed: ['true', 'false', '1', '0'], actual: force.length }
    expect(answer.json.error.details.fields).toEqual({ force: { code: 'VALIDATION.field.enum', ...facts } })
    expect(await stored(service, 'force', id)).toMatchObject({ version: 1 })
  })

  test('is read in the spelling of other languages', async () => {
    const { id } = await made(calls, 'force')
    expect((await calls.softDelete(admin('force'), id, { query: { force: '0' } })).status).toBe(204)
    expect(await stored(service, 'force', id)).toMatchObject({ soft_deleted: true })
    const forced = await calls.hardDelete(admin('force'), id, 'made by mistake', { query: { force: '1' } })
    expect(forced.status).toBe(204)
    expect(await stored(service, 'force', id)).toBeUndefined()
  })

  test.each(['force=true&force=false', 'force=0&force=1'])('is refused twice (%s)', async (query) => {
    const { id } = await made(calls, 'force')
    const answer = await calls.send('DELETE', `/codes/${id}?${query}`, admin('force'))
    expect(outcome(answer)).toBe('400 VALIDATION.field.format')
    expect(await stored(service, 'force', id)).toMatchObject({ version: 1 })
  })

  test('is part of the payload to which a key is bound', async () => {
    const first = await made(calls, 'keys')
    const extra = (key: string) => ({ headers: { 'Idempotency-Key': key } })
    expect((await calls.softDelete(admin('keys'), first.id, extra('one'))).status).toBe(204)
    const forced = await calls.hardDelete(admin('keys'), first.id, 'made by mistake', extra('one'))
    expect(outcome(forced)).toBe('409 CONFLICT.idempotency.payload_mismatch')
    expect(await stored(service, 'keys', first.id)).toMatchObject({ soft_deleted: true, version: 2 })
  })
})
