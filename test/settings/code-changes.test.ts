import { describe, expect, test } from '@jest/globals'
import { audit, seeded, stored } from '#test/codes/code-calls.ts'
import { both, callsOf, codeIn, newTenant, other, tenantOf, who } from '#test/codes/two-deployments.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, startService } from '#test/support/service.ts'
import { otherSettings } from '#test/support/settings.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

describe('a code', () => {
  test('codes.types', async () => {
    const created = await both(async ({ create, editor }, service) => [
      outcome(await create(editor, codeIn(service, { type: 'percent-10' }))),
      outcome(await create(editor, codeIn(service, { type: 'half-price' }))),
    ])
    expect(created).toEqual([
      ['201', '400 VALIDATION.field.enum'],
      ['400 VALIDATION.field.enum', '201'],
    ])
  })

  test('codes.fields', async () => {
    const versions = await both(async ({ make, update, editor, read, list, viewer }) => {
      const { id } = await make()
      const updated = await update(editor, id, '*', { name: 'Other' })
      const [listed] = (await list(viewer)).json.data
      return [updated.json.version, (await read(viewer, id)).json.version, listed.version]
    })
    expect(versions).toEqual([
      [undefined, undefined, undefined],
      [2, 2, 2],
    ])
  })

  test('codes.initialState', async () => {
    expect(
      await both(async ({ create, editor }, service) => (await create(editor, codeIn(service))).json.state),
    ).toEqual(['active', 'draft'])
  })

  test('codes.nameInnerSpace', async () => {
    for (const name of ['Ten off', 'Ten\u00a0off', 'Ten\toff']) {
      const [here, there] = await both(async ({ create, editor }, service) =>
        outcome(await create(editor, codeIn(service, { name }))),
      )
      expect(here).toBe(name.includes('\t') ? '400 VALIDATION.name.charset' : '201')
      expect(there).toBe('400 VALIDATION.name.charset')
    }
    const trimmed = await both(async ({ make, update, editor }) => {
      const { id } = await make({ name: ' Ten🎉off ' })
      return outcome(await update(editor, id, '*', { name: 'a b' }))
    })
    expect(trimmed).toEqual(['200', '400 VALIDATION.name.charset'])
  })

  test('codes.duplicate', async () => {
    const answers = await both(async ({ make, softDelete, create, editor }, service) => {
      const { id, code } = await make()
      const body = codeIn(service, { code: ` ${code.toLowerCase()}` })
      const live = outcome(await create(editor, body))
      await softDelete(editor, id)
      return [live, outcome(await create(editor, body))]
    })
    const taken = '409 CONFLICT.code.exists'
    expect(answers).toEqual([
      [taken, taken],
      [taken, '201'],
    ])
  })

  test('codes.replayStatus', async () => {
    const replays = await both(async ({ create, editor }, service) => {
      const [body, extra] = [codeIn(service), { headers: { 'Idempotency-Key': 'one' } }]
      const first = await create(editor, body, extra)
      const replay = await create(editor, body, extra)
      expect([replay.body, replay.headers.ETag]).toEqual([first.body, first.headers.ETag])
      expect(replay.headers['Idempotency-Status']).toBe('replayed')
      const refused = await create(editor, { ...body, name: 'Other' }, extra)
      return [first.status, replay.status, outcome(refused)]
    })
    const refused = '409 CONFLICT.idempotency.payload_mismatch'
    expect(replays).toEqual([
      [201, 201, refused],
      [201, 200, refused],
    ])
  })
})

describe('the states of a code', () => {
  test('codes.transitions', async () => {
    const moves = await both(async ({ make, update, editor, admin }) => {
      const { id } = await make()
      const move = (who: typeof admin, state: string) => update(who, id, '*', { state, name: 'Moved' })
      const answers = [
        await move(editor, 'active'),
        await move(admin, 'archived'),
        await move(admin, 'active'),
        await move(admin, 'active'),
        await move(admin, 'draft'),
      ]
      const kept = await update(admin, id, '*', { name: 'Kept' })
      expect(kept.json.state).toBe('active')
      return answers.map(reasonOf)
    })
    expect(moves).toEqual([
      Array(5).fill('immutable'),
      ['role', 'transition', 'active', 'active', 'transition'],
    ])
    function reasonOf({ json }: Answer): string {
      return json.error?.details.fields.state.reason ?? json.state
    }
    const { tenant, make, softDelete, update, editor, admin } = tenantOf(other)
    const { id } = await make()
    expect(outcome(await update(admin, id, '*', { state: 'soft_deleted' }))).toBe('400 VALIDATION.field.enum')
    const archived = await seeded(other, tenant, { state: 'archived' })
    expect(reasonOf(await update(admin, archived.id, '*', { state: 'active' }))).toBe('transition')
    // An update of a deleted code by an Admin does not restore it.
    const lenient = { ...otherSettings, 'codes.adminUpdateOfSoftDeleted': 'allowed' as const }
    const lenientCalls = callsOf(await startService({ settings: lenient, tableName: other.tableName }))
    await softDelete(editor, id)
    expect(reasonOf(await lenientCalls.update(admin, id, '*', { state: 'active' }))).toBe('transition')
    expect(await stored(other, tenant, id)).toMatchObject({ state: 'soft_deleted', soft_deleted: true })
  })

  test('codes.stateAfterRestore', async () => {
    const states = await both(async ({ tenant, softDelete, restore, editor }, service) => {
      const { id } = await seeded(service, tenant, { state: 'archived' })
      await softDelete(editor, id)
      return (await restore(editor, id)).json.state
    })
    expect(states).toEqual(['archived', 'draft'])
  })

  test('codes.adminUpdateOfSoftDeleted', async () => {
    const updates = await both(async ({ tenant, make, softDelete, update, editor, admin }, service) => {
      const { id } = await make()
      await softDelete(editor, id)
      const outcomes = [
        outcome(await update(admin, id, '*', { name: 'Other' })),
        outcome(await update(editor, id, '*', { name: 'Other' })),
      ]
      return [...outcomes, (await stored(service, tenant, id))?.name]
    })
    const refused = '409 CONFLICT.soft_deleted'
    expect(updates).toEqual([
      ['200', refused, 'Other'],
      [refused, refused, 'Off'],
    ])
  })

  test('codes.adminUpdateOfSoftDeleted: a denial from another tenant is audited without its id', async () => {
    const { tenant, make, softDelete, update, editor, admin } = tenantOf(other)
    const { id } = await make()
    await softDelete(editor, id)
    const far = newTenant()
    expect(outcome(await update(who('Admin', far), id, '*', { name: 'Other' }))).toBe(
      '409 CONFLICT.soft_deleted',
    )
    const records = await audit(other, far)
    expect(records).toMatchObject([{ target: 'code', result: 'deny', reason: 'CONFLICT.soft_deleted' }])
    expect(JSON.stringify(records)).not.toMatch(new RegExp(`${id}|"${tenant}"`))
    await update(admin, id, '*', { name: 'Other' })
    expect((await audit(other, tenant)).at(-1)).toMatchObject({ target: `code/${id}`, result: 'deny' })
  })

  test('codes.readOfSoftDeleted and codes.repeatedDelete', async () => {
    const answers = await both(async ({ make, softDelete, read, editor, viewer, admin }) => {
      const { id } = await make()
      await softDelete(editor, id)
      const seen = [await read(viewer, id), await read(admin, id), await softDelete(editor, id)]
      return seen.map(outcome)
    })
    expect(answers).toEqual([['200', '200', '204'], Array(3).fill('404 NOT_FOUND.code')])
  })

  test('codes.restoreOfLive', async () => {
    const answers = await both(async ({ tenant, make, restore, editor }, service) => {
      const { id } = await make()
      const answer = await restore(editor, id)
      expect(await stored(service, tenant, id)).toMatchObject({ version: 1 })
      expect(await audit(service, tenant)).toEqual([])
      return [outcome(answer), answer.json.id === id]
    })
    expect(answers).toEqual([
      ['409 CONFLICT.not_deleted', false],
      ['200', true],
    ])
  })
})
