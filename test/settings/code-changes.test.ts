import { describe, expect, test } from '@jest/globals'
import { audit, seeded, stored } from '#test/codes/code-calls.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { otherSettings } from '#test/support/settings.ts'
import { callsOf, codeIn, newTenant, type Tenant, tenantOf, twoDeployments, who } from './two-deployments.ts'

const { other, expectChanges } = await twoDeployments()

const conflict = (code: string) => `409 CONFLICT.${code}`
/** The new state, or why it was refused. */
const reasonOf = ({ json }: Answer): string => json.error?.details.fields.state.reason ?? json.state
const pathOf = ({ settings }: Service, operation: 'codes.import' | 'codes.bulkUpdate') =>
  settings[operation].path

describe('a code', () => {
  const naming =
    (...names: string[]) =>
    async ({ create, editor }: Tenant, service: Service) => {
      const answers = await Promise.all(names.map((name) => create(editor, codeIn(service, { name }))))
      return answers.map(outcome)
    }
  expectChanges([
    [
      'codes.types',
      async ({ create, editor }, service) => [
        outcome(await create(editor, codeIn(service, { type: 'percent-10' }))),
        outcome(await create(editor, codeIn(service, { type: 'half-price' }))),
      ],
      ['201', '400 VALIDATION.field.enum'],
      ['400 VALIDATION.field.enum', '201'],
    ],
    [
      'codes.fields',
      async ({ make, update, editor, read, list, viewer }) => {
        const { id } = await make()
        const updated = await update(editor, id, '*', { name: 'Other' })
        const [listed] = (await list(viewer)).json.data
        return [updated.json.version, (await read(viewer, id)).json.version, listed.version]
      },
      [undefined, undefined, undefined],
      [2, 2, 2],
    ],
    [
      'codes.initialState',
      async ({ create, editor }, service) => (await create(editor, codeIn(service))).json.state,
      'active',
      'draft',
    ],
    [
      'codes.nameInnerSpace',
      naming('Ten off', 'Ten\u00a0off', 'Ten\toff', ' Ten🎉off '),
      ['201', '201', '400 VALIDATION.name.charset', '201'],
      [...Array(3).fill('400 VALIDATION.name.charset'), '201'],
    ],
    [
      'codes.nameInnerSpace, of an update',
      async ({ make, update, editor }) =>
        outcome(await update(editor, (await make()).id, '*', { name: 'a b' })),
      '200',
      '400 VALIDATION.name.charset',
    ],
    [
      'codes.duplicate',
      async ({ make, softDelete, create, editor }, service) => {
        const { id, code } = await make()
        const body = codeIn(service, { code: ` ${code.toLowerCase()}` })
        const live = outcome(await create(editor, body))
        await softDelete(editor, id)
        return [live, outcome(await create(editor, body))]
      },
      [conflict('code.exists'), conflict('code.exists')],
      [conflict('code.exists'), '201'],
    ],
    [
      'codes.replayStatus',
      async ({ create, editor }, service) => {
        const [body, extra] = [codeIn(service), { headers: { 'Idempotency-Key': 'one' } }]
        const first = await create(editor, body, extra)
        const replay = await create(editor, body, extra)
        expect([replay.body, replay.headers.ETag]).toEqual([first.body, first.headers.ETag])
        return [first.status, replay.status]
      },
      [201, 201],
      [201, 200],
    ],
  ])
})

describe('the states of a code', () => {
  expectChanges([
    [
      'codes.transitions',
      async ({ make, update, editor, admin }) => {
        const { id } = await make()
        const move = async (by: typeof admin, state: string) =>
          reasonOf(await update(by, id, '*', { state, name: 'Moved' }))
        const moves = [
          await move(editor, 'active'),
          await move(admin, 'archived'),
          await move(admin, 'active'),
          await move(admin, 'active'),
          await move(admin, 'draft'),
        ]
        return [...moves, (await update(admin, id, '*', { name: 'Kept' })).json.state]
      },
      [...Array(5).fill('immutable'), 'active'],
      ['role', 'transition', 'active', 'active', 'transition', 'active'],
    ],
    [
      'codes.stateAfterRestore',
      async ({ tenant, softDelete, restore, editor }, service) => {
        const { id } = await seeded(service, tenant, { state: 'archived' })
        await softDelete(editor, id)
        return (await restore(editor, id)).json.state
      },
      'archived',
      'draft',
    ],
    [
      'codes.adminUpdateOfSoftDeleted',
      async ({ tenant, make, softDelete, update, editor, admin }, service) => {
        const { id } = await make()
        await softDelete(editor, id)
        const updates = [admin, editor].map(async (by) => outcome(await update(by, id, '*', { name: 'New' })))
        return [...(await Promise.all(updates)), (await stored(service, tenant, id))?.name]
      },
      ['200', conflict('soft_deleted'), 'New'],
      [conflict('soft_deleted'), conflict('soft_deleted'), 'Off'],
    ],
    [
      'codes.readOfSoftDeleted and codes.repeatedDelete',
      async ({ make, softDelete, read, editor, viewer, admin }) => {
        const { id } = await make()
        await softDelete(editor, id)
        return [await read(viewer, id), await read(admin, id), await softDelete(editor, id)].map(outcome)
      },
      ['200', '200', '204'],
      Array(3).fill('404 NOT_FOUND.code'),
    ],
    [
      'codes.restoreOfLive',
      async ({ tenant, make, restore, editor }, service) => {
        const { id } = await make()
        const answer = await restore(editor, id)
        expect(await stored(service, tenant, id)).toMatchObject({ version: 1 })
        expect(await audit(service, tenant)).toEqual([])
        return [outcome(answer), answer.json.id === id]
      },
      [conflict('not_deleted'), false],
      ['200', true],
    ],
  ])

  test('codes.transitions does not start at archived, nor end at soft_deleted', async () => {
    const { tenant, update, admin } = tenantOf(other)
    const { id } = await seeded(other, tenant, { state: 'archived' })
    expect(outcome(await update(admin, id, '*', { state: 'soft_deleted' }))).toBe('400 VALIDATION.field.enum')
    expect(reasonOf(await update(admin, id, '*', { state: 'active' }))).toBe('transition')
  })

  test('codes.adminUpdateOfSoftDeleted restores no code', async () => {
    const { tenant, make, softDelete, editor, admin } = tenantOf(other)
    const settings = { ...otherSettings, 'codes.adminUpdateOfSoftDeleted': 'allowed' as const }
    const { update } = callsOf(await startService({ settings, tableName: other.tableName }))
    const { id } = await make()
    await softDelete(editor, id)
    expect(reasonOf(await update(admin, id, '*', { state: 'active' }))).toBe('transition')
    expect(await stored(other, tenant, id)).toMatchObject({ state: 'soft_deleted', soft_deleted: true })
  })

  test('codes.adminUpdateOfSoftDeleted: a denial from another tenant is audited without its id', async () => {
    const { tenant, make, softDelete, update, editor, admin } = tenantOf(other)
    const { id } = await make()
    await softDelete(editor, id)
    const far = newTenant()
    const denied = await update(who('Admin', far), id, '*', { name: 'Other' })
    expect(outcome(denied)).toBe(conflict('soft_deleted'))
    const records = await audit(other, far)
    expect(records).toMatchObject([{ target: 'code', result: 'deny', reason: 'CONFLICT.soft_deleted' }])
    expect(JSON.stringify(records)).not.toMatch(new RegExp(`${id}|"${tenant}"`))
    await update(admin, id, '*', { name: 'Other' })
    expect((await audit(other, tenant)).at(-1)).toMatchObject({ target: `code/${id}`, result: 'deny' })
  })
})

describe('operations on codes', () => {
  const line = (code: string, service: Service) => `N,${code},2099-01-01T00:00:00Z,${codeIn(service).type}`
  const csv = (service: Service, ...codes: string[]) =>
    ['name,code,expiry_at,type', ...codes.map((code) => line(code, service))].join('\r\n')
  const missing = '400 VALIDATION.reason.required'
  expectChanges([
    [
      'codes.hardDeleteReason',
      async ({ tenant, make, call }, service) => {
        const { id } = await make()
        const remove = async (headers: Record<string, string>) =>
          outcome(await call('DELETE', `/codes/${id}?force=true`, { role: 'Admin', headers }))
        return [
          await remove({ 'X-Audit-Log-Reason': '' }),
          await remove({ 'X-Reason': 'x'.repeat(21) }),
          await remove({ 'X-Audit-Log-Reason': 'because', 'X-Reason': 'twenty characters ok' }),
          (await audit(service, tenant)).at(-1)?.reason,
        ]
      },
      [missing, missing, '204', 'because'],
      [missing, '400 VALIDATION.header.invalid', '204', 'twenty characters ok'],
    ],
    [
      'codes.missingIfMatch',
      async ({ make, update, editor }) =>
        outcome(await update(editor, (await make()).id, undefined, { name: 'x' })),
      '428 VALIDATION.if_match.required',
      '400 VALIDATION.if_match.required',
    ],
    [
      'codes.share',
      async ({ tenant, make, share, editor }, service) => {
        const { id } = await make()
        const { status, json, body } = await share(editor, id, tenant)
        const [record] = await audit(service, tenant)
        return [status, json?.id === id, body === undefined, record?.action, record?.result]
      },
      [200, true, false, 'share', 'allow'],
      [204, false, true, 'share', 'allow'],
    ],
    [
      'codes.export',
      async ({ make, call }) => {
        const results: unknown[] = []
        for (const code of ['CSV-1', 'CSV-2', 'CSV-3', 'CSV-4']) {
          await make({ code })
          const answer = await call('GET', '/codes:export')
          if (answer.body?.includes('CSV-1')) results.push(answer.body.split('\r\n')[0])
          const lasting = new URL(answer.headers.Location ?? 'x:').searchParams.get('seconds')
          results.push(outcome(answer) + (lasting ? ` for ${lasting} s` : ''))
        }
        return results
      },
      Array(4).fill(['id,code,type,name,expiry_at,state,soft_deleted,created_at,updated_at', '200']).flat(),
      ['state,code', '200', '303 for 60 s', '303 for 60 s', '409 POLICY.export.row_limit'],
    ],
    [
      'codes.import',
      async ({ call }, service) => {
        const path = pathOf(service, 'codes.import')
        const results = [path]
        for (const body of [
          csv(service, 'ROW-1', 'ROW-2'),
          csv(service, 'ROW-3', 'ROW-4', 'ROW-5'),
          `${csv(service, 'ROW-6')}${'\r\n'.repeat(150)}`,
        ])
          results.push(outcome(await call('POST', path, { headers: { 'Content-Type': 'text/csv' }, body })))
        return results
      },
      ['/codes:import', '207', '207', '207'],
      ['/codes:load', '207', '400 VALIDATION.csv.too_many_rows', '413 VALIDATION.body.invalid'],
    ],
    [
      'codes.bulkUpdate and bulk.layout',
      async ({ make, call }, service) => {
        const path = pathOf(service, 'codes.bulkUpdate')
        const made = [await make(), await make(), await make()]
        const items = made.map(({ id }) => ({ id, if_match: '*', name: 'Bulk' }))
        const two = await call('POST', path, { body: { items: items.slice(0, 2) } })
        const [rows] = Object.values(two.json as Record<string, { row: number }[]>)
        const three = await call('POST', path, { body: { items } })
        return [path, Object.keys(two.json), rows?.map(({ row }) => row), outcome(two), outcome(three)]
      },
      ['/codes:bulkUpdate', ['items', 'counts'], [1, 2], '207', '207'],
      ['/codes:change', ['results', 'summary'], [0, 1], '207', '400 VALIDATION.field.length'],
    ],
    [
      'codes.bulkUpdate, its bytes',
      async ({ call }, service) => {
        const body = { items: ['x'.repeat(3000)] }
        return outcome(await call('POST', pathOf(service, 'codes.bulkUpdate'), { body }))
      },
      '400 VALIDATION.field.type',
      '413 VALIDATION.body.invalid',
    ],
  ])
})

describe('the list of codes', () =>
  expectChanges([
    [
      'codes.list',
      async ({ make, list, viewer }) => {
        for (let n = 0; n < 20; n += 1) await make({ name: 'x'.repeat(64) })
        const { json } = await list(viewer, { page_size: '20' })
        return [json.data.length === 20, json.next_cursor === null]
      },
      [true, true],
      [false, false],
    ],
    [
      'lists.offsetPaging',
      async ({ list, viewer }) => outcome(await list(viewer, { limit: '1', offset: '1' })),
      '200',
      '400 VALIDATION.filter.unknown_key',
    ],
    [
      'lists.searchFields',
      async ({ make, list, viewer }) => {
        const { id, code } = await make()
        const hits = async (q: string) => (await list(viewer, { q })).json.data.length
        return [await hits(code), await hits(id)]
      },
      [1, 0],
      [0, 1],
    ],
    [
      'lists.includeDeletedRoles',
      async ({ make, softDelete, list, editor }) => {
        await softDelete(editor, (await make()).id)
        const answer = await list(editor, { include_deleted: 'true' })
        return [outcome(answer), answer.json.data?.length]
      },
      ['403 AUTHZ.filter.denied', undefined],
      ['200', 1],
    ],
  ]))
