import { expect } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { audit, seeded, stored, validCode } from '#test/codes/code-calls.ts'
import { outcome } from '#test/support/outcome.ts'
import { receiveEvent } from '#test/support/received-events.ts'
import type { Answer } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { each, newTenantOf, type Options, type Row, type Tenant, testChanges } from './changes.ts'

const exists = '409 CONFLICT.code.exists'
const deleted = '409 CONFLICT.soft_deleted'
const noMove = '409 CONFLICT.code.transition'

/** Creates a code for each change. */
const creates =
  (...changes: Record<string, unknown>[]) =>
  ({ create, editor }: Tenant) =>
    each(changes, async (change) => outcome(await create(editor, validCode(change))))

/** Returns the new state, or the status and the code of its refusal. */
const moveOf = (answer: Answer): string => answer.json.state ?? outcome(answer)

/** Makes a code and deletes it. */
async function makeDeleted({ make, softDelete, editor }: Tenant) {
  const code = await make()
  await softDelete(editor, code.id)
  return code
}

const line = (code: string) => `${code},percent-10,N,2099-01-01T00:00:00Z`
const csv = (...codes: string[]) => ['code,type,name,expiry_at', ...codes.map(line)].join('\r\n')
const importing =
  (path: string, body: string) =>
  async ({ call }: Tenant) =>
    outcome(await call('POST', path, { headers: { 'Content-Type': 'text/csv' }, body }))

/** Updates two codes at once. */
async function updateTwo({ make, call, settings }: Tenant) {
  const items = await each([1, 2], async () => ({ id: (await make()).id, if_match: '*', name: 'Bulk' }))
  return call('POST', settings['codes.bulkUpdate'].path, { body: { items } })
}

const verify = ({ call }: Tenant, code: string, cart?: string, options: Options = {}) =>
  call('POST', '/discount/verify', { body: { code }, headers: { 'X-Cart-Id': cart }, ...options })

const receiveCart = ({ service, tenant }: Tenant, amount_minor: number, more: object = {}) =>
  receiveEvent(
    service,
    eventOf('cart.updated', { id: 'cart', tenant_id: tenant, amount_minor, currency: 'EUR', ...more }),
  )

/** Applies codes of a type to a cart. @returns the discount of each, or why there is none */
const discounts =
  (amount: number, type: string, ...codes: string[]) =>
  async (tenant: Tenant) => {
    await receiveCart(tenant, amount)
    return each(codes, async (code) => {
      await tenant.make({ code, type })
      const answer = await verify(tenant, code, 'cart')
      return answer.json.amount ?? outcome(answer)
    })
  }

/** Verifies a code on a cart that its owner updated, as this subject of an issuer. */
const verifyAs = (owner: string | undefined, as: Options) => async (tenant: Tenant) => {
  await receiveCart(tenant, 1000, owner ? { user_id: owner } : {})
  return outcome(await verify(tenant, 'UNKNOWN', 'cart', { ...as, headers: { 'X-Cart-Id': 'cart' } }))
}

// biome-ignore format: a table of rows
const rows: Row[] = [
  ['codes.types',
    { 'half-price': { kind: 'percentage', rule_id: 'half', value: 50, combinable_with_gift_card: true } },
    creates({ type: 'percent-10' }, { type: 'half-price' }), ['201', '201']],
  ['codes.fields', ['version'], async ({ make, update, editor, read, list, viewer }) => {
    const { id } = await make()
    const updated = await update(editor, id, '*', { name: 'Other' })
    const [listed] = (await list(viewer)).json.data
    return [updated.json, (await read(viewer, id)).json, listed].map(({ version }) => version)
  }, [2, 2, 2]],
  ['codes.initialState', 'draft', async ({ create, editor }) => (await create(editor, validCode())).json.state,
    'draft'],
  ['codes.nameInnerSpace', 'refused',
    creates({ name: 'Ten off' }, { name: 'Ten\u00a0off' }, { name: 'Ten\toff' }, { name: ' Ten🎉off ' }),
    [...Array(3).fill('400 VALIDATION.name.charset'), '201']],
  ['codes.nameInnerSpace', 'refused',
    async ({ make, update, editor }) => outcome(await update(editor, (await make({ name: 'ab' })).id, '*', { name: 'a b' })),
    '400 VALIDATION.name.charset'],
  ['codes.duplicate', { softDeletedKeepsCode: false }, async ({ make, softDelete, create, editor }) => {
    const { id, code } = await make()
    const body = validCode({ code: ` ${code.toLowerCase()}` })
    const live = outcome(await create(editor, body))
    await softDelete(editor, id)
    return [live, outcome(await create(editor, body))]
  }, [exists, '201']],
  ['codes.replayStatus', 200, async ({ create, editor }) => {
    const [body, extra] = [validCode(), { headers: { 'Idempotency-Key': 'one' } }]
    const [first, replay] = [await create(editor, body, extra), await create(editor, body, extra)]
    expect([replay.body, replay.headers.ETag]).toEqual([first.body, first.headers.ETag])
    return [first.status, replay.status]
  }, [201, 200]],
  ['codes.transitions', [{ from: 'draft', to: 'active' }, { from: 'archived', to: 'draft' }],
    async ({ service, tenant, update, editor, admin }) => {
    const move =
      (id: string) =>
      async ([by, state]: readonly [typeof admin, string]) =>
        moveOf(await update(by, id, '*', { state, name: 'Moved' }))
    const [draft, archived] = [
      await seeded(service, tenant, { state: 'draft' }),
      await seeded(service, tenant, { state: 'archived' }),
    ]
    const moves = await each(
      [
        [editor, 'active'],
        [admin, 'archived'],
        [admin, 'active'],
        [admin, 'active'],
        [admin, 'draft'],
      ] as const,
      move(draft.id),
    )
    const ofArchived = await each(
      [
        [admin, 'active'],
        [admin, 'draft'],
      ] as const,
      move(archived.id),
    )
    return [...moves, (await update(admin, draft.id, '*', { name: 'Kept' })).json.state, ...ofArchived]
  }, ['403 AUTHZ.field.denied', noMove, 'active', 'active', noMove, 'active', noMove, 'draft']],
  ['codes.transitions', [{ from: 'draft', to: 'active' }],
    // No transition ends at soft_deleted, and none restores a code that an Admin may update.
    async (tenant) => {
    const { update, admin, service } = tenant
    const { id } = await makeDeleted(tenant)
    const end = outcome(await update(admin, id, '*', { state: 'soft_deleted' }))
    const restored = moveOf(await update(admin, id, '*', { state: 'active' }))
    return [end, restored, (await stored(service, tenant.tenant, id))?.state]
  }, ['400 VALIDATION.field.enum', noMove, 'soft_deleted']],
  ['codes.stateAfterRestore', 'initial', async ({ service, tenant, softDelete, restore, editor }) => {
    const { id } = await seeded(service, tenant, { state: 'archived' })
    await softDelete(editor, id)
    return (await restore(editor, id)).json.state
  }, 'active'],
  ['codes.adminUpdateOfSoftDeleted', 'refused', async (tenant) => {
    const { update, editor, admin, service } = tenant
    const { id } = await makeDeleted(tenant)
    const updates = await each([admin, editor], async (by) =>
      outcome(await update(by, id, '*', { name: 'New' })),
    )
    return [...updates, (await stored(service, tenant.tenant, id))?.name]
  }, [deleted, deleted, 'Ten off']],
  ['codes.adminUpdateOfSoftDeleted', 'refused', // A denial from another tenant is audited without the id.
    async (tenant) => {
    const { service, update, admin } = tenant
    const { id } = await makeDeleted(tenant)
    const far = await newTenantOf(tenant.settings)
    await far.update(far.admin, id, '*', { name: 'Other' })
    await update(admin, id, '*', { name: 'Other' })
    const recordOf = async (one: string) => {
      const record = (await audit(service, one)).at(-1)
      return [String(record?.target).replace(id, 'ID'), record?.result, record?.reason]
    }
    const ofFar = JSON.stringify(await audit(service, far.tenant))
    return [await recordOf(far.tenant), await recordOf(tenant.tenant), ofFar.includes(`"${tenant.tenant}"`)]
  }, [['code', 'deny', 'CONFLICT.soft_deleted'], ['code/ID', 'deny', 'CONFLICT.soft_deleted'], false]],
  ['codes.readOfSoftDeleted', 404, async (tenant) => {
    const { id } = await makeDeleted(tenant)
    return each([tenant.viewer, tenant.admin], async (by) => outcome(await tenant.read(by, id)))
  }, ['404 NOT_FOUND.code', '404 NOT_FOUND.code']],
  ['codes.repeatedDelete', 404,
    async (tenant) => outcome(await tenant.softDelete(tenant.editor, (await makeDeleted(tenant)).id)),
    '404 NOT_FOUND.code'],
  ['codes.restoreOfLive', 200, async ({ service, tenant, make, restore, editor }) => {
    const { id } = await make()
    const answer = await restore(editor, id)
    expect(await stored(service, tenant, id)).toMatchObject({ version: 1 })
    expect(await audit(service, tenant)).toEqual([])
    return [outcome(answer), answer.json.id === id]
  }, ['200', true]],
  ['codes.hardDeleteReason', { header: 'X-Reason', maxLength: 20 }, async ({ service, tenant, make, call }) => {
    const { id } = await make()
    const [long, short] = ['x'.repeat(21), 'twenty characters ok']
    const answers = await each(
      [
        { 'X-Audit-Log-Reason': '' },
        { 'X-Reason': long },
        { 'X-Audit-Log-Reason': 'because', 'X-Reason': short },
      ],
      async (headers) =>
        outcome(await call('DELETE', `/codes/${id}?force=true`, { role: 'Admin', headers })),
    )
    return [...answers, (await audit(service, tenant)).at(-1)?.reason]
  }, ['400 VALIDATION.reason.required', '400 VALIDATION.header.invalid', '204', 'twenty characters ok']],
  ['codes.missingIfMatch', 400,
    async ({ make, update, editor }) => outcome(await update(editor, (await make()).id, undefined, { name: 'x' })),
    '400 VALIDATION.if_match.required'],
  ['codes.share', { status: 204, body: 'none' }, async ({ service, tenant, make, share, editor }) => {
    const { id } = await make()
    const { status, json, body } = await share(editor, id, tenant)
    expect((await audit(service, tenant))[0]).toMatchObject({ action: 'share', result: 'allow' })
    return [status, json?.id === id, body === undefined]
  }, [204, false, true]],
  ['codes.export', { columns: ['state', 'code'], maxRows: 3, inlineMaxBytes: 30, linkSeconds: 60 },
    ({ make, call }) =>
      each(['CSV-1', 'CSV-2', 'CSV-3', 'CSV-4'], async (code) => {
      await make({ code })
      const answer = await call('GET', '/codes:export')
      const lasting = new URL(answer.headers.Location ?? 'x:').searchParams.get('seconds')
      return [outcome(answer), lasting, lasting === null && answer.body?.split('\r\n')[0]]
    }),
    [['200', null, 'state,code'], ['303', '60', false], ['303', '60', false], ['409 POLICY.export.row_limit', null, expect.anything()]]],
  ['codes.import', { path: '/codes:load' }, importing('/codes:load', csv('ROW-1')), '207'],
  ['codes.import', { maxRows: 2, maxBytes: 300 },
    (tenant) => each([csv('ROW-1', 'ROW-2'), csv('ROW-3', 'ROW-4', 'ROW-5'), csv('ROW-6') + '\r\n'.repeat(150)], (file) => importing('/codes:import', file)(tenant)),
    ['207', '400 VALIDATION.csv.too_many_rows', '413 VALIDATION.body.too_large']],
  ['codes.bulkUpdate', { path: '/codes:change', maxItems: 1, maxBytes: 2048 }, async (tenant) => {
    const body = { items: ['x'.repeat(3000)] }
    const large = await tenant.call('POST', tenant.settings['codes.bulkUpdate'].path, { body })
    const former = await tenant.call('POST', '/codes:bulkUpdate', { body })
    return [await updateTwo(tenant), large, former].map(outcome)
  }, ['400 VALIDATION.field.length', '413 VALIDATION.body.too_large', '404 NOT_FOUND.route']],
  ['bulk.layout', { items: 'results', counts: 'summary', firstRow: 0 }, async (tenant) => {
    const { json } = await updateTwo(tenant)
    const [rows] = Object.values(json as Record<string, { row: number }[]>)
    return [Object.keys(json), rows?.map(({ row }) => row)]
  }, [['results', 'summary'], [0, 1]]],

  ['discount.cart', { header: 'X-Basket' },
    (tenant) => each(['X-Cart-Id', 'X-Basket'], async (name) => outcome(await verify(tenant, 'NONE', undefined, { headers: { [name]: 'nowhere' } }))),
    ['200', '404 NOT_FOUND.cart']],
  ['discount.cartFields', { amount: 'data.total.minor', currency: 'data.total.currency', owner: 'data.customer.id' },
    async (tenant) => {
    const total = { minor: 1001, currency: 'USD' }
    await receiveCart(tenant, 1000, { total, user_id: 'ada', customer: { id: 'bob' } })
    const found = await findCart(tenant.service.table, tenant.tenant, 'cart')
    return [found?.amount_minor, found?.currency, found?.owner]
  }, [1001, 'USD', 'bob']],
  ['discount.cartOwners', 'sessions', // The subject of a token owns no cart of sessions.
    verifyAs('Viewer-1', { role: 'Viewer' }), '403 AUTHZ.role.denied'],
  ['discount.mayApply', 'editors', verifyAs(undefined, { role: 'Viewer' }), '403 AUTHZ.role.denied'],
  ['discount.mayApply', 'readers', verifyAs('ada', { role: 'Viewer' }), '200'],
  ['discount.combination', { maxCodes: 1 }, discounts(1000, 'percent-10', 'FIRST', 'SECOND'),
    [100, '409 CONFLICT.code.not_combinable']],
  ['discount.rejection', { status: 404 }, async (tenant) => outcome(await verify(tenant, 'UNKNOWN')),
    '404 NOT_FOUND.code'],
  // The exact discount is 1.75.
  ['discount.amount', { rounding: 'down' }, discounts(7, 'percent-25', 'ROUNDED'), [1]],
  ['discount.amount', { cappedAtCart: false }, discounts(700, 'fixed-500', 'FIRST', 'SECOND'), [500, 500]],
]

testChanges(rows, newTenantOf)
