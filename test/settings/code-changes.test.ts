import { beforeAll, describe, expect, test } from '@jest/globals'
import {
  audit,
  type CodeCalls,
  claims,
  codeCalls,
  outcome,
  seeded,
  stored,
  tally,
  validCode,
} from '#test/codes/code-calls.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { otherSettings } from '#test/support/settings.ts'

/** Each setting of the codes proves itself: the same call, answered otherwise by a deployment that chose otherwise. */

let local: Service
let other: Service
const calls = new Map<Service, CodeCalls>()
const always = { headers: { 'X-Nonce': 'n', 'X-Token-Nonce': 'n' } }
beforeAll(async () => {
  local = await startService()
  other = await startService({ settings: otherSettings })
  for (const service of [local, other]) calls.set(service, codeCalls(service, always))
})

const as = (role: string, tenant: string) => ({
  tenant,
  role,
  sub: `${role}-1`,
  scope: 'codes:read codes:write',
  claims: { nonce: 'n', amr: ['otp'] },
})
let tenants = 0
const newTenant = () => `tenant-${tenants++}`
const typeIn = ({ settings }: Service) => Object.keys(settings['codes.types'])[0]
const codeIn = (service: Service, changes = {}) =>
  validCode({ type: typeIn(service), name: 'Off', ...changes })

/** A tenant of a service, with the calls of its Editor and its Admin. */
function tenantOf(service: Service, tenant = newTenant()) {
  const of = calls.get(service) as CodeCalls
  const [viewer, editor, admin] = ['Viewer', 'Editor', 'Admin'].map((role) => as(role, tenant)) as [
    ReturnType<typeof as>,
    ReturnType<typeof as>,
    ReturnType<typeof as>,
  ]
  return {
    tenant,
    viewer,
    editor,
    admin,
    ...of,
    make: async (changes = {}) => {
      const answer = await of.create(editor, codeIn(service, changes))
      if (answer.status !== 201) throw new Error(answer.body)
      return answer.json as { id: string; code: string }
    },
  }
}
type Tenant = ReturnType<typeof tenantOf>

/** What the same steps come to here and there. */
async function both<T>(steps: (tenant: Tenant, service: Service) => Promise<T>): Promise<[T, T]> {
  return [await steps(tenantOf(local), local), await steps(tenantOf(other), other)]
}

describe('a code', () => {
  test('codes.types', async () => {
    const created = await both(async ({ create, editor }) => [
      outcome(await create(editor, validCode({ name: 'Off', type: 'percent-10' }))),
      outcome(await create(editor, validCode({ name: 'Off', type: 'half-price' }))),
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
    const { make, update, admin } = tenantOf(other)
    const { id } = await make()
    expect(outcome(await update(admin, id, '*', { state: 'soft_deleted' }))).toBe('400 VALIDATION.field.enum')
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

  test('codes.adminUpdateOfSoftDeleted: a refusal from afar is audited without a foreign id', async () => {
    const { tenant, make, softDelete, update, editor, admin } = tenantOf(other)
    const { id } = await make()
    await softDelete(editor, id)
    const far = newTenant()
    expect(outcome(await update(as('Admin', far), id, '*', { name: 'Other' }))).toBe(
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

describe('the calls on a code', () => {
  test('codes.hardDeleteReason', async () => {
    const answers = await both(async ({ tenant, make, send, admin }, service) => {
      const { id } = await make()
      const remove = async (headers: Record<string, string>) =>
        outcome(await send('DELETE', `/codes/${id}?force=true`, admin, { headers }))
      const outcomes = [
        await remove({ 'X-Audit-Log-Reason': '' }),
        await remove({ 'X-Reason': 'x'.repeat(21) }),
        await remove({ 'X-Audit-Log-Reason': 'because', 'X-Reason': 'twenty characters ok' }),
      ]
      return [...outcomes, (await audit(service, tenant)).at(-1)?.reason]
    })
    const missing = '400 VALIDATION.reason.required'
    expect(answers).toEqual([
      [missing, missing, '204', 'because'],
      [missing, '400 VALIDATION.header.invalid', '204', 'twenty characters ok'],
    ])
  })

  test('codes.missingIfMatch', async () => {
    const answers = await both(async ({ make, update, editor }) =>
      outcome(await update(editor, (await make()).id, undefined, { name: 'x' })),
    )
    expect(answers).toEqual(['428 VALIDATION.if_match.required', '400 VALIDATION.if_match.required'])
  })

  test('codes.share', async () => {
    const answers = await both(async ({ tenant, make, share, editor }, service) => {
      const { id } = await make()
      const answer = await share(editor, id, tenant)
      expect(await audit(service, tenant)).toMatchObject([{ action: 'share', result: 'allow' }])
      return [answer.status, answer.json?.id === id, answer.body === undefined]
    })
    expect(answers).toEqual([
      [200, true, false],
      [204, false, true],
    ])
  })
})

describe('codes.duplicate', () => {
  test('a soft-deleted code keeps its text or sets it free', async () => {
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

  test('a restore takes the text back, unless another code has it by then', async () => {
    const { tenant, make, softDelete, restore, hardDelete, editor, admin } = tenantOf(other)
    const first = await make({ code: 'FREE' })
    await softDelete(editor, first.id)
    const second = await make({ code: 'FREE' })
    const before = await stored(other, tenant, first.id)
    const refused = await restore(editor, first.id)
    expect(outcome(refused)).toBe('409 CONFLICT.code.exists')
    expect(JSON.stringify(refused)).not.toContain(second.id)
    expect(await stored(other, tenant, first.id)).toEqual(before)
    expect((await claims(other, tenant)).FREE).toBe(second.id)
    await hardDelete(admin, second.id, 'requested')
    const restored = await restore(editor, first.id)
    expect(restored.json).toMatchObject({ code: 'FREE', soft_deleted: false, version: 3 })
    expect(await claims(other, tenant)).toEqual({ FREE: first.id })
    expect(await stored(other, tenant, first.id)).not.toHaveProperty('claim')
  })

  test('a hard delete of the soft-deleted one leaves the claim of the new one alone', async () => {
    const { tenant, make, softDelete, hardDelete, create, editor, admin } = tenantOf(other)
    const first = await make({ code: 'FREE' })
    await softDelete(editor, first.id)
    const second = await make({ code: 'FREE' })
    expect(outcome(await hardDelete(admin, first.id, 'requested'))).toBe('204')
    expect(await claims(other, tenant)).toEqual({ FREE: second.id })
    expect((await other.items(tenant, 'code')).map(({ id }) => id)).toEqual([second.id])
    expect(outcome(await create(editor, codeIn(other, { code: 'free' })))).toBe('409 CONFLICT.code.exists')
  })

  test('any number of deleted codes had the same text, each found by its own claim', async () => {
    const { tenant, make, softDelete, restore, hardDelete, editor, admin } = tenantOf(other)
    const ids: string[] = []
    for (let round = 0; round < 3; round += 1) {
      const { id } = await make({ code: 'AGAIN' })
      await softDelete(editor, id)
      ids.push(id)
    }
    expect(Object.values(await claims(other, tenant)).sort()).toEqual(ids)
    expect(await claims(other, tenant)).not.toHaveProperty('AGAIN')
    expect(outcome(await restore(editor, ids[1] ?? ''))).toBe('200')
    expect(outcome(await restore(editor, ids[0] ?? ''))).toBe('409 CONFLICT.code.exists')
    expect(outcome(await hardDelete(admin, ids[2] ?? '', 'requested'))).toBe('204')
    expect(await claims(other, tenant)).toMatchObject({ AGAIN: ids[1] })
    expect(Object.values(await claims(other, tenant)).sort()).toEqual(ids.slice(0, 2))
  })

  test('what was deleted under one choice is restored and removed under the other', async () => {
    const under = (settings: typeof otherSettings) => startService({ settings, tableName: other.tableName })
    const { tenant, make, softDelete, editor } = tenantOf(other)
    const kept = { ...otherSettings, 'codes.duplicate': { softDeletedKeepsCode: true } }
    const { id, code } = await make()
    await softDelete(editor, id)
    const keeping = codeCalls(await under(kept), always)
    expect(outcome(await keeping.restore(editor, id))).toBe('200')
    expect(await claims(other, tenant)).toEqual({ [code]: id })
    await keeping.softDelete(editor, id)
    expect(await claims(other, tenant)).toEqual({ [code]: id })
    expect(
      outcome((await calls.get(other)?.hardDelete(as('Admin', tenant), id, 'requested')) as Answer),
    ).toBe('204')
    expect(await claims(other, tenant)).toEqual({})
  })

  test('deletes, restores and creates of one text at once leave one claim a code', async () => {
    // Time enough for all at once on a machine that is busy with other tests.
    const patience = { unit: 'seconds', maxMilliseconds: 26_000 } as const
    const settings = { ...otherSettings, 'requests.timeoutHeader': patience }
    const patient = codeCalls(await startService({ settings, tableName: other.tableName }), always)
    const { tenant, make, editor } = tenantOf(other)
    const { id } = await make({ code: 'STORM' })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        if (n % 4 === 0) return patient.softDelete(editor, id)
        if (n % 4 === 1) return patient.restore(editor, id)
        if (n % 4 === 2) return patient.update(editor, id, '*', { name: `n${n}` })
        return patient.create(editor, codeIn(other, { code: 'storm' }))
      }),
    )
    for (const kind of Object.keys(tally(answers))) expect(kind).toMatch(/^(200|201|204|404|409|412)/)
    const items = await other.items(tenant, 'code')
    const held = await claims(other, tenant)
    expect(Object.values(held).sort()).toEqual(items.map((item) => item.id).sort())
    for (const item of items) {
      expect(held[String(item.claim ?? 'STORM')]).toBe(item.id)
      expect(item.claim === undefined).toBe(item.soft_deleted === false)
    }
    expect(items.filter((item) => item.soft_deleted === false).length).toBeLessThanOrEqual(1)
  })
})

describe('files and batches of codes', () => {
  const line = (code: string, service: Service) => `N,${code},2099-01-01T00:00:00Z,${typeIn(service)}`
  const csv = (...lines: string[]) => ['name,code,expiry_at,type', ...lines].join('\r\n')
  const importing = (tenant: Tenant, service: Service, body: string) =>
    tenant.send(
      'POST',
      service.settings['codes.import'].path,
      tenant.editor,
      { headers: { 'Content-Type': 'text/csv' } },
      body,
    )

  test('codes.export', async () => {
    const exported = await both(async ({ make, send, editor }) => {
      const { code } = await make({ code: 'CSV-1' })
      const one = await send('GET', '/codes:export', editor)
      const [header = '', row = ''] = (one.body ?? '').split('\r\n')
      await make({ code: 'CSV-2' })
      const two = await send('GET', '/codes:export', editor)
      await make({ code: 'CSV-3' })
      const three = await send('GET', '/codes:export', editor)
      await make({ code: 'CSV-4' })
      const four = await send('GET', '/codes:export', editor)
      const lasting = new URL(two.headers.Location ?? 'x:?seconds=none').searchParams.get('seconds')
      return [header, row.includes(code), ...[one, two, three, four].map(outcome), lasting]
    })
    expect(exported).toEqual([
      [
        'id,code,type,name,expiry_at,state,soft_deleted,created_at,updated_at',
        true,
        ...['200', '200', '200', '200'],
        'none',
      ],
      ['state,code', true, '200', '303', '303', '409 POLICY.export.row_limit', '60'],
    ])
  })

  test('codes.import', async () => {
    expect([local, other].map(({ settings }) => settings['codes.import'].path)).toEqual([
      '/codes:import',
      '/codes:load',
    ])
    const imported = await both(async (tenant, service) => {
      const files = [
        csv(line('ROW-1', service), line('ROW-2', service)),
        csv(line('ROW-3', service), line('ROW-4', service), line('ROW-5', service)),
        `${csv(line('ROW-6', service))}${'\r\n'.repeat(150)}`,
      ]
      const answers: string[] = []
      for (const file of files) answers.push(outcome(await importing(tenant, service, file)))
      return answers
    })
    expect(imported).toEqual([
      ['207', '207', '207'],
      ['207', '400 VALIDATION.csv.too_many_rows', '413 VALIDATION.body.invalid'],
    ])
  })

  test('codes.bulkUpdate and bulk.layout', async () => {
    const batches = await both(async ({ make, send, editor }, service) => {
      const items = await Promise.all(
        [1, 2, 3].map(async () => ({ id: (await make()).id, if_match: '*', name: 'Bulk' })),
      )
      const change = (count: number) =>
        send('POST', service.settings['codes.bulkUpdate'].path, editor, {}, { items: items.slice(0, count) })
      const two = await change(2)
      const rows = Object.values(two.json as Record<string, { row: number }[]>)[0]
      return [Object.keys(two.json), rows?.map(({ row }) => row), outcome(two), outcome(await change(3))]
    })
    expect(batches).toEqual([
      [['items', 'counts'], [1, 2], '207', '207'],
      [['results', 'summary'], [0, 1], '207', '400 VALIDATION.field.length'],
    ])
    expect([local, other].map(({ settings }) => settings['codes.bulkUpdate'].path)).toEqual([
      '/codes:bulkUpdate',
      '/codes:change',
    ])
  })
})

describe('the list of codes', () => {
  test('lists.offsetPaging', async () => {
    const pages = await both(async ({ make, list, viewer }) => {
      await make()
      await make()
      return outcome(await list(viewer, { limit: '1', offset: '1' }))
    })
    expect(pages).toEqual(['200', '400 VALIDATION.filter.unknown_key'])
  })

  test('lists.searchFields', async () => {
    const found = await both(async ({ make, list, viewer }) => {
      const { id, code } = await make()
      const hits = async (q: string) => (await list(viewer, { q })).json.data.length
      return [await hits(code), await hits(id)]
    })
    expect(found).toEqual([
      [1, 0],
      [0, 1],
    ])
  })

  test('lists.includeDeletedRoles', async () => {
    const seen = await both(async ({ make, softDelete, list, editor }) => {
      await softDelete(editor, (await make()).id)
      const answer = await list(editor, { include_deleted: 'true' })
      return [outcome(answer), answer.json.data?.length]
    })
    expect(seen).toEqual([
      ['403 AUTHZ.filter.denied', undefined],
      ['200', 1],
    ])
  })
})
