import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { admin, audit, editor, made, seeded, stored, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

const listed = async (tenant: string) =>
  (await calls.list(viewer(tenant))).json.data.map(({ id }: { id: string }) => id)

describe('POST /codes/{id}:restore', () => {
  test.each(['draft', 'active', 'archived'] as const)(
    'restores the state before the delete (%s) and lists the code again',
    async (state) => {
      const { version: _, ...shown } = await seeded(service, `restore-${state}`, { state })
      const { id } = shown
      await calls.softDelete(editor(`restore-${state}`), id)
      const deleted = await calls.read(viewer(`restore-${state}`), id)
      const answer = await calls.restore(editor(`restore-${state}`), id)
      expect([answer.status, answer.json]).toEqual([200, { ...shown, updated_at: answer.json.updated_at }])
      expect(answer.json.updated_at > deleted.json.updated_at).toBe(true)
      const read = await calls.read(viewer(`restore-${state}`), id)
      expect([read.json, read.headers.ETag]).toEqual([answer.json, answer.headers.ETag])
      expect(answer.headers.ETag).not.toBe(deleted.headers.ETag)
      expect(await listed(`restore-${state}`)).toEqual([id])
      const item = await stored(service, `restore-${state}`, id)
      expect(item).toMatchObject({ state, version: 3 })
      expect(item).not.toHaveProperty('state_before_delete')
    },
  )

  test('of a live code is a conflict and changes nothing', async () => {
    const { id, json } = await made(calls, 'live')
    expect(outcome(await calls.restore(editor('live'), id))).toBe('409 CONFLICT.not_deleted')
    await calls.softDelete(editor('live'), id)
    expect((await calls.restore(editor('live'), id)).status).toBe(200)
    expect(outcome(await calls.restore(editor('live'), id))).toBe('409 CONFLICT.not_deleted')
    expect(await stored(service, 'live', id)).toMatchObject({ state: json.state, version: 3 })
  })
})

describe('POST /codes/{id}:share', () => {
  test('within the tenant is permitted to its Editors and returns the code', async () => {
    const { id, json } = await made(calls, 'sharing')
    const answer = await calls.share(editor('sharing'), id, 'sharing')
    expect([answer.status, answer.json]).toEqual([200, json])
    expect(await stored(service, 'sharing', id)).toMatchObject({ version: 1 })
  })

  test('with another tenant is denied to an Editor; only the audit names the code and the grantee', async () => {
    const { id, json } = await made(calls, 'sharing-out')
    const answer = await calls.share(editor('sharing-out'), id, 'grantee-unnamed')
    expect(outcome(answer)).toBe('403 AUTHZ.scope.tenant')
    const records = await audit(service, 'sharing-out')
    expect(records).toMatchObject([
      {
        action: 'share',
        target: `code/${id}`,
        result: 'deny',
        reason: 'AUTHZ.scope.tenant',
        after: { grantee_tenant: 'grantee-unnamed' },
      },
    ])
    expect(JSON.stringify([answer, service.lines])).not.toContain('grantee-unnamed')
    expect(JSON.stringify(answer)).not.toContain(json.code)
    expect(await audit(service, 'grantee-unnamed')).toEqual([])
  })

  test('with another tenant is permitted to an Admin, and audited in the tenant of the code', async () => {
    const { id, json } = await made(calls, 'shared-from')
    const answer = await calls.share(admin('head'), id, 'grantee')
    expect([answer.status, answer.json]).toEqual([200, json])
    expect(await audit(service, 'shared-from')).toMatchObject([
      {
        action: 'share',
        target: `code/${id}`,
        result: 'allow',
        tenant_id: 'shared-from',
        actor_id: 'Admin-1',
        after: { grantee_tenant: 'grantee' },
      },
    ])
    expect(await audit(service, 'head')).toEqual([])
  })

  test('of another tenant’s code returns 404 for any grantee', async () => {
    const { id } = await made(calls, 'held')
    for (const grantee of ['other', 'thief']) {
      expect(outcome(await calls.share(editor('thief'), id, grantee))).toBe('404 NOT_FOUND.code')
    }
    const records = await audit(service, 'thief')
    expect(records.map(({ after }) => after)).toEqual([
      { grantee_tenant: 'other' },
      { grantee_tenant: 'thief' },
    ])
    expect(JSON.stringify(records)).not.toMatch(new RegExp(`${id}|held`))
  })

  test('of a soft-deleted code is a conflict', async () => {
    const { id } = await made(calls, 'gone')
    await calls.softDelete(editor('gone'), id)
    expect(outcome(await calls.share(admin('gone'), id, 'gone'))).toBe('409 CONFLICT.soft_deleted')
  })

  test.each([
    ['no grantee', {}, 'VALIDATION.field.required'],
    ['an empty grantee', { grantee_tenant: '' }, 'VALIDATION.field.format'],
    ['a grantee with a # in it', { grantee_tenant: 'a#b' }, 'VALIDATION.field.format'],
    ['an overlong grantee', { grantee_tenant: 'x'.repeat(65) }, 'VALIDATION.field.format'],
  ])('with %s is rejected', async (_, body, code) => {
    const { id } = await made(calls, 'grantees')
    const answer = await calls.send('POST', `/codes/${id}:share`, admin('grantees'), {}, body)
    expect(outcome(answer)).toBe(`400 ${code}`)
    expect(await audit(service, 'grantees')).toEqual([])
  })
})
