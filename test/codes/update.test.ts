import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Settings } from '#shared/settings/register.ts'
import { outcome } from '#test/support/outcome.ts'
import { localSettings } from '#test/support/settings.ts'
import { startService } from '../support/service.ts'
import { admin, audit, codeCalls, editor, made, seeded, stored, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

describe('PATCH /codes/{id}', () => {
  test('returns 200 with the code, a later updated_at and a new tag, and changes nothing else', async () => {
    const { id, etag, json } = await made(calls, 'update')
    const tags = [etag]
    let before = json
    for (const change of [
      { name: 'Other' },
      { expiry_at: '2099-06-01T12:00:00+02:00' },
      { name: 'Third', expiry_at: '2099-07-01T00:00:00Z' },
    ]) {
      const answer = await calls.update(editor('update'), id, tags.at(-1), change)
      const expiry = new Date(change.expiry_at ?? before.expiry_at).toISOString()
      expect(answer.status).toBe(200)
      expect(answer.json).toEqual({
        ...before,
        ...change,
        expiry_at: expiry,
        updated_at: answer.json.updated_at,
      })
      expect(answer.json.updated_at > before.updated_at).toBe(true)
      tags.push(answer.headers.ETag ?? '')
      const read = await calls.read(viewer('update'), id)
      expect([read.json, read.headers.ETag]).toEqual([answer.json, tags.at(-1)])
      before = answer.json
    }
    expect(new Set(tags).size).toBe(4)
    expect(await stored(service, 'update', id)).toMatchObject({ version: 4 })
  })

  test('advances updated_at even if the clock of the last writer was ahead', async () => {
    let now = Date.parse('2026-05-01T12:00:00.000Z')
    const standing = codeCalls(await startService({ clock: { ...systemClock, now: () => now } }))
    const { id } = await made(standing, 'clock')
    const first = await standing.update(editor('clock'), id, '*', { name: 'a' })
    now -= 5000
    const second = await standing.update(editor('clock'), id, '*', { name: 'b' })
    expect([first.json.updated_at, second.json.updated_at]).toEqual([
      '2026-05-01T12:00:00.001Z',
      '2026-05-01T12:00:00.002Z',
    ])
  })

  test('keeps an expiry in the past, and rejects another one in the past', async () => {
    const code = await seeded(service, 'past', { expiry_at: '2020-01-01T00:00:00.000Z' })
    const renamed = await calls.update(editor('past'), code.id, '*', { name: 'Over' })
    expect(renamed.json).toMatchObject({ name: 'Over', expiry_at: '2020-01-01T00:00:00.000Z' })
    const past = await calls.update(editor('past'), code.id, '*', { expiry_at: '2020-01-01T00:00:00.000Z' })
    expect(outcome(past)).toBe('400 VALIDATION.date.range')
    expect(await stored(service, 'past', code.id)).toMatchObject({ name: 'Over', version: 2 })
  })

  test.each([
    ['an unknown field', { name: 'x', surprise: 1 }, 'VALIDATION.field.unknown', 'surprise'],
    ['the version', { version: 7 }, 'VALIDATION.field.unknown', 'version'],
    ['the key of its lock', { lock_key: 'OTHER' }, 'VALIDATION.field.unknown', 'lock_key'],
    ['the state before', { state_before_delete: 'draft' }, 'VALIDATION.field.unknown', 'state_before_delete'],
    ['nothing', {}, 'VALIDATION.body.invalid', 'body'],
    ['no name', { name: '' }, 'VALIDATION.field.length', 'name'],
    ['a name of null', { name: null }, 'VALIDATION.field.type', 'name'],
    ['an expiry of null', { expiry_at: null }, 'VALIDATION.field.type', 'expiry_at'],
  ])('with %s is rejected and changes nothing', async (_, body, code, field) => {
    const { id, json } = await made(calls, 'invalid')
    for (const role of [editor, admin]) {
      const answer = await calls.update(role('invalid'), id, '*', body)
      expect(outcome(answer)).toBe(`400 ${code}`)
      expect(Object.keys(answer.json.error.details.fields)).toEqual([field])
    }
    expect(await stored(service, 'invalid', id)).toMatchObject({ ...json, version: 1 })
  })
})

describe('PUT /codes/{id}', () => {
  const expiry_at = '2098-01-01T00:00:00.000Z'
  const whole = { name: 'Whole', expiry_at }
  const replace = (tenant: string, id: string, tag: string, body: unknown) =>
    calls.send('PUT', `/codes/${id}`, editor(tenant), { headers: { 'If-Match': tag } }, body)

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

  test('accepts the code as it was read, by an Editor too', async () => {
    const { id, etag, json } = await made(calls, 'as-read')
    const answer = await replace('as-read', id, etag, { ...json, name: 'Renamed' })
    expect([answer.status, answer.json]).toEqual([
      200,
      { ...json, name: 'Renamed', updated_at: answer.json.updated_at },
    ])
    // As clients write the times that they have parsed: with an offset, with more digits, or without a fraction.
    let { json: last, headers } = answer
    for (const end of ['000+00:00', '+00:00', 'Z']) {
      const [created_at, updated_at] = [last.created_at, last.updated_at].map((time: string) =>
        time.replace(end === '000+00:00' ? 'Z' : /\.\d+Z/, end),
      )
      const again = await replace('as-read', id, headers.ETag ?? '', { ...last, created_at, updated_at })
      expect(again.status).toBe(200)
      ;({ json: last, headers } = again)
    }
  })

  test('accepts an expiry that has passed if it stays', async () => {
    const expiry_at = '2020-01-01T00:00:00.000Z'
    const code = await seeded(service, 'expired', { expiry_at })
    const { json } = await calls.read(editor('expired'), code.id)
    const kept = await replace('expired', code.id, '*', { ...json, name: 'Over' })
    expect([kept.status, kept.json.name, kept.json.expiry_at]).toEqual([200, 'Over', expiry_at])
    const moved = { ...kept.json, expiry_at: '2020-01-02T00:00:00Z' }
    expect(outcome(await replace('expired', code.id, '*', moved))).toBe('400 VALIDATION.date.range')
  })

  test('accepts a soft-deleted code as it was read, from an Admin', async () => {
    const { id } = await made(calls, 'deleted-put')
    await calls.softDelete(editor('deleted-put'), id)
    const { json } = await calls.read(admin('deleted-put'), id)
    const headers = { 'If-Match': '*' }
    const body = { ...json, name: 'Renamed' }
    const answer = await calls.send('PUT', `/codes/${id}`, admin('deleted-put'), { headers }, body)
    expect([answer.status, answer.json.state]).toEqual([200, 'soft_deleted'])
  })

  test('accepts the version as it was read where callers get it', async () => {
    const settings: Settings = { ...localSettings, 'codes.fields': ['version'] }
    const by = codeCalls(await startService({ settings }))
    const { id, json } = await made(by, 'versions')
    const put = (version: number) =>
      by.send(
        'PUT',
        `/codes/${id}`,
        editor('versions'),
        { headers: { 'If-Match': '*' } },
        { ...json, version },
      )
    expect(outcome(await put(json.version + 1))).toBe('403 AUTHZ.field.denied')
    expect(outcome(await put(json.version))).toBe('200')
    // Read before the update above, which If-Match: * permits.
    expect(outcome(await put(json.version))).toBe('200')
  })

  test('accepts with If-Match: * the code as it was read before an update', async () => {
    const { id, json } = await made(calls, 'read-earlier')
    for (const name of ['One', 'Two'])
      expect(outcome(await replace('read-earlier', id, '*', { ...json, name }))).toBe('200')
    const later = { ...json, updated_at: '2098-01-01T00:00:00.000Z' }
    expect(outcome(await replace('read-earlier', id, '*', later))).toBe('403 AUTHZ.field.denied')
  })

  test.each([
    ['code', 'OTHER'],
    ['created_at', '2020-01-01T00:00:00.000Z'],
    ['updated_at', null],
    ['state', 'archived'],
    ['soft_deleted', true],
  ])('rejects another %s', async (field, value) => {
    const { id, etag, json } = await made(calls, 'guarded')
    const answer = await replace('guarded', id, etag, { ...json, [field]: value })
    expect(outcome(answer)).toBe('403 AUTHZ.field.denied')
    expect(Object.keys(answer.json.error.details.fields)).toEqual([field])
    expect(await stored(service, 'guarded', id)).toMatchObject({ version: 1 })
  })

  test('rejects a stale code by its tag, not by its fields', async () => {
    const { id, etag, json } = await made(calls, 'stale-put')
    await replace('stale-put', id, etag, whole)
    expect(outcome(await replace('stale-put', id, etag, json))).toBe('412 CONFLICT.etag.mismatch')
  })

  test('rejects an unknown field', async () => {
    const { id, etag } = await made(calls, 'unknown-put')
    const answer = await replace('unknown-put', id, etag, { ...whole, surprise: 1 })
    expect(outcome(answer)).toBe('400 VALIDATION.field.unknown')
  })
})

test('a change of the state is denied to an Editor whatever the tag, also in a batch, and decided by it for an Admin', async () => {
  const settings: Settings = { ...localSettings, 'codes.transitions': [{ from: 'active', to: 'archived' }] }
  const by = codeCalls(await startService({ settings }))
  const { id, etag } = await made(by, 'moved')
  const body = { state: 'archived' }
  for (const tag of ['"stale"', '*', etag]) {
    expect(outcome(await by.update(editor('moved'), id, tag, body))).toBe('403 AUTHZ.field.denied')
    const batch = await by.bulkUpdate(editor('moved'), [{ id, if_match: tag, ...body }])
    expect(batch.json.items[0].error.code).toBe('AUTHZ.field.denied')
  }
  expect(outcome(await by.update(admin('moved'), id, '"stale"', body))).toBe('412 CONFLICT.etag.mismatch')
  expect(outcome(await by.update(admin('moved'), id, etag, body))).toBe('200')
  expect(outcome(await by.update(editor('other'), id, '*', body))).toBe('404 NOT_FOUND.code')
  await by.softDelete(editor('moved'), id)
  expect(outcome(await by.update(editor('moved'), id, '*', body))).toBe('409 CONFLICT.soft_deleted')
})

describe('an immutable field', () => {
  test.each([
    ['id', '01900000-0000-8000-8000-000000000000'],
    ['code', 'OTHER'],
    ['type', 'percent-25'],
    ['created_by', 'somebody'],
    ['tenant_id', 'elsewhere'],
    ['soft_deleted', true],
    ['created_at', '2020-01-01T00:00:00.000Z'],
    ['updated_at', '2020-01-01T00:00:00.000Z'],
    ['state', 'archived'],
  ])('%s is denied to every role, and audited', async (field, value) => {
    const tenant = `immutable-${field}`
    const { id, etag, json } = await made(calls, tenant)
    const before = (await audit(service, tenant)).length
    const same = json[field]
    for (const body of [
      { [field]: value },
      { [field]: same },
      { name: 'x', [field]: null },
      { [field]: value, surprise: 1 },
    ]) {
      for (const role of [editor, admin]) {
        const answer = await calls.update(role(tenant), id, etag, body)
        expect(outcome(answer)).toBe('403 AUTHZ.field.denied')
        expect(answer.json.error.details.fields).toMatchObject({ [field]: { reason: 'immutable' } })
      }
    }
    expect(await stored(service, tenant, id)).toMatchObject({ ...json, version: 1 })
    const denials = (await audit(service, tenant)).slice(before)
    expect(denials).toHaveLength(8)
    for (const denial of denials) {
      expect(denial).toMatchObject({ target: `code/${id}`, result: 'deny', reason: 'AUTHZ.field.denied' })
    }
  })
})

describe('a soft-deleted code', () => {
  test('cannot be updated by an Editor with any tag, and the denial is audited', async () => {
    const { id } = await made(calls, 'blocked')
    await calls.softDelete(editor('blocked'), id)
    const before = await stored(service, 'blocked', id)
    const { headers } = await calls.read(editor('blocked'), id)
    for (const tag of [headers.ETag, '*', '"stale"']) {
      const answer = await calls.update(editor('blocked'), id, tag, { name: 'x' })
      expect(outcome(answer)).toBe('409 CONFLICT.soft_deleted')
    }
    expect(await stored(service, 'blocked', id)).toEqual(before)
    expect((await audit(service, 'blocked')).slice(1)).toMatchObject(
      Array.from({ length: 3 }, () => ({
        action: 'update',
        target: `code/${id}`,
        result: 'deny',
        reason: 'CONFLICT.soft_deleted',
        tenant_id: 'blocked',
      })),
    )
  })

  test('can be updated by an Admin, and stays soft-deleted', async () => {
    const { id } = await made(calls, 'admin-edit')
    await calls.softDelete(editor('admin-edit'), id)
    const { headers } = await calls.read(admin('admin-edit'), id)
    const answer = await calls.update(admin('admin-edit'), id, headers.ETag, { name: 'Renamed' })
    expect(answer.json).toMatchObject({ name: 'Renamed', soft_deleted: true, state: 'soft_deleted' })
    const restored = await calls.restore(editor('admin-edit'), id)
    expect(restored.json).toMatchObject({ name: 'Renamed', soft_deleted: false, state: 'active' })
  })
})
