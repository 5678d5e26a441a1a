import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, profile } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { admin, codeCalls, editor, locks, made, stored, tally, validCode } from './code-calls.ts'
import { resending } from './retrying-service.ts'

const freeing = profile('shared/settings/profiles/local.json', {
  'codes.duplicate': { softDeletedKeepsCode: false },
  'codes.fields': ['version'],
})
const other = await startService({ settings: freeing })

/** A new tenant and its calls. */
function tenantOf() {
  const [tenant, calls] = [uniqueTenant(), codeCalls(other)]
  const make = async (changes = {}): Promise<{ id: string; code: string }> =>
    (await made(calls, tenant, changes)).json
  return { ...calls, tenant, make, editor: editor(tenant), admin: admin(tenant) }
}

describe('if a soft delete frees the text of a code', () => {
  test('a restore takes the text again, unless another code has it', async () => {
    const { tenant, make, softDelete, restore, hardDelete, editor, admin } = tenantOf()
    const first = await make({ code: 'FREE' })
    await softDelete(editor, first.id)
    const second = await make({ code: 'FREE' })
    const before = await stored(other, tenant, first.id)
    const refused = await restore(editor, first.id)
    expect(outcome(refused)).toBe('409 CONFLICT.code.exists')
    expect(refused.json.error.details).toEqual({ soft_deleted: false })
    expect(JSON.stringify(refused)).not.toContain(second.id)
    expect(await stored(other, tenant, first.id)).toEqual(before)
    expect((await locks(other, tenant)).FREE).toBe(second.id)
    await hardDelete(admin, second.id, 'requested')
    const restored = await restore(editor, first.id)
    expect(restored.json).toMatchObject({ code: 'FREE', soft_deleted: false, version: 3 })
    expect(await locks(other, tenant)).toEqual({ FREE: first.id })
    expect(await stored(other, tenant, first.id)).not.toHaveProperty('lock_key')
  })

  test('a hard delete of the soft-deleted code keeps the uniqueness lock of the new one', async () => {
    const { tenant, make, softDelete, hardDelete, create, editor, admin } = tenantOf()
    const first = await make({ code: 'FREE' })
    await softDelete(editor, first.id)
    const second = await make({ code: 'FREE' })
    expect(outcome(await hardDelete(admin, first.id, 'requested'))).toBe('204')
    expect(await locks(other, tenant)).toEqual({ FREE: second.id })
    expect((await other.items(tenant, 'code')).map(({ id }) => id)).toEqual([second.id])
    expect(outcome(await create(editor, validCode({ code: 'free' })))).toBe('409 CONFLICT.code.exists')
  })

  test('several deleted codes can have had the same text, each found by its own entry', async () => {
    const { tenant, make, softDelete, restore, hardDelete, editor, admin } = tenantOf()
    const ids: string[] = []
    for (let round = 0; round < 3; round += 1) {
      const { id } = await make({ code: 'AGAIN' })
      await softDelete(editor, id)
      ids.push(id)
    }
    expect(Object.values(await locks(other, tenant)).sort()).toEqual(ids)
    expect(await locks(other, tenant)).not.toHaveProperty('AGAIN')
    expect(outcome(await restore(editor, ids[1] ?? ''))).toBe('200')
    expect(outcome(await restore(editor, ids[0] ?? ''))).toBe('409 CONFLICT.code.exists')
    expect(outcome(await hardDelete(admin, ids[2] ?? '', 'requested'))).toBe('204')
    expect(await locks(other, tenant)).toMatchObject({ AGAIN: ids[1] })
    expect(Object.values(await locks(other, tenant)).sort()).toEqual(ids.slice(0, 2))
  })

  test('codes deleted under one setting are restored and removed under the other', async () => {
    const { tenant, make, softDelete, hardDelete, editor, admin } = tenantOf()
    const { id, code } = await make()
    await softDelete(editor, id)
    const keeping = codeCalls(await startService({ settings: localSettings, tableName: other.tableName }))
    expect(outcome(await keeping.restore(editor, id))).toBe('200')
    expect(await locks(other, tenant)).toEqual({ [code]: id })
    await keeping.softDelete(editor, id)
    expect(await locks(other, tenant)).toEqual({ [code]: id })
    expect(outcome(await hardDelete(admin, id, 'requested'))).toBe('204')
    expect(await locks(other, tenant)).toEqual({})
  })

  test('concurrent deletes, restores and creates of one text leave one uniqueness lock for each code', async () => {
    const patient = codeCalls(resending(other))
    const { tenant, make, editor } = tenantOf()
    const { id } = await make({ code: 'STORM' })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        if (n % 4 === 0) return patient.softDelete(editor, id)
        if (n % 4 === 1) return patient.restore(editor, id)
        if (n % 4 === 2) return patient.update(editor, id, '*', { name: `n${n}` })
        return patient.create(editor, validCode({ code: 'storm' }))
      }),
    )
    for (const kind of Object.keys(tally(answers))) expect(kind).toMatch(/^(200|201|204|404|409|412)/)
    const items = await other.items(tenant, 'code')
    const held = await locks(other, tenant)
    expect(Object.values(held).sort()).toEqual(items.map((item) => item.id).sort())
    for (const item of items) {
      expect(held[String(item.lock_key ?? 'STORM')]).toBe(item.id)
      expect(item.lock_key === undefined).toBe(item.soft_deleted === false)
    }
    expect(items.filter((item) => item.soft_deleted === false).length).toBeLessThanOrEqual(1)
  })
})
