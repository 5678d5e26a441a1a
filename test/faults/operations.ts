import { expect } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { asCode, codeEtag } from '#shared/codes/code-store.ts'
import { type DiscountCalls, discountCalls } from '#test/discounts/discount-calls.ts'
import { latestEventsOf } from '#test/support/item-events.ts'
import type { Answer, Call, Service } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

/** An operation whose key has one effect, whatever fails. */
export interface Operation {
  /** Prepares a tenant. @returns the call of the operation in it, without its key */
  prepare(tenant: string): Promise<Call>
  status: number
  /** Expects the items that the operation leaves in its tenant. */
  expectEffect(tenant: string): Promise<void>
  /** The results of its rows, each of which is a transaction; absent if the operation is one transaction. */
  rows?: (number | [number, string])[]
}

const expiry_at = '2099-01-01T00:00:00.000Z'
const code = { code: 'A', type: 'percent-10', name: 'Before', expiry_at }
const row = (text: string, name: string) => `${text},percent-10,${name},${expiry_at}\n`

/** Returns the results of the rows of a batch. */
export const resultsOf = ({ json }: Answer) =>
  json.items.map(({ status, error }: { status: number; error?: { code: string } }) =>
    error ? [status, error.code] : status,
  )

/** Returns the calls of one service, each with the key that the test names. */
export function callsWith(service: Service) {
  return (tenant: string, key: string, one: Call) =>
    service.call({
      as: { tenant, role: 'Admin', scope: 'codes:read codes:write' },
      ...one,
      headers: { 'Idempotency-Key': key, ...one.headers },
    })
}

export function operationsOf(service: Service): Record<string, Operation> {
  const call = callsWith(service)
  const discounts = discountCalls(service)
  const create = (tenant: string) => call(tenant, 'made', { method: 'POST', path: '/codes', body: code })
  const pathOf = async (tenant: string) => `/codes/${(await create(tenant)).json.id}`
  const importing: Call = {
    method: 'POST',
    path: '/codes:import',
    headers: { 'Content-Type': 'text/csv' },
    body: `code,type,name,expiry_at\n${row('A', 'Before')}${row('B', '')}${row('B', 'Before')}${row('A', 'Again')}`,
  }

  /** Expects these codes with their locks, and these actions in the audit. */
  const codesAre =
    (codes: [text: string, name: string, state: string, version: number][], ...actions: string[]) =>
    async (tenant: string) => {
      const stored = await service.items(tenant, 'code')
      const shown = stored.map(({ code: text, name, state, version }) => [text, name, state, version])
      expect(shown.sort()).toEqual(codes)
      const locks = await service.items(tenant, 'code_lock')
      expect(locks.map(({ sk, code_id }) => `${sk} ${code_id}`)).toEqual(
        stored.map(({ code: text, id }) => `${text} ${id}`).sort(),
      )
      const allowed = (await service.items(tenant, 'audit')).filter(({ result }) => result === 'allow')
      expect(allowed.map(({ action }) => action)).toEqual(actions)
    }

  return {
    'the creation of an order': {
      prepare: async () => ({
        method: 'POST',
        path: '/v1/orders',
        body: { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' },
      }),
      status: 201,
      async expectEffect(tenant) {
        expect((await service.items(tenant, 'order')).map(({ amount_minor }) => amount_minor)).toEqual([1250])
      },
    },
    'the creation of a code': {
      prepare: async () => ({ method: 'POST', path: '/codes', body: code }),
      status: 201,
      expectEffect: codesAre([['A', 'Before', 'active', 1]]),
    },
    'the update of a code': {
      async prepare(tenant) {
        const { json, headers } = await create(tenant)
        const change = { headers: { 'If-Match': headers.ETag ?? '' }, body: { name: 'After' } }
        return { method: 'PATCH', path: `/codes/${json.id}`, ...change }
      },
      status: 200,
      expectEffect: codesAre([['A', 'After', 'active', 2]], 'update'),
    },
    'the soft delete of a code': {
      prepare: async (tenant) => ({ method: 'DELETE', path: await pathOf(tenant) }),
      status: 204,
      expectEffect: codesAre([['A', 'Before', 'soft_deleted', 2]], 'soft_delete'),
    },
    'the restore of a code': {
      async prepare(tenant) {
        const path = await pathOf(tenant)
        await call(tenant, 'deleted', { method: 'DELETE', path })
        return { method: 'POST', path: `${path}:restore`, body: {} }
      },
      status: 200,
      expectEffect: codesAre([['A', 'Before', 'active', 3]], 'soft_delete', 'restore'),
    },
    'the hard delete of a code': {
      async prepare(tenant) {
        const headers = { 'X-Audit-Log-Reason': 'made by mistake' }
        return { method: 'DELETE', path: `${await pathOf(tenant)}?force=true`, headers }
      },
      status: 204,
      expectEffect: codesAre([], 'hard_delete'),
    },
    'the share of a code': {
      async prepare(tenant) {
        const body = { grantee_tenant: 'friend' }
        return { method: 'POST', path: `${await pathOf(tenant)}:share`, body }
      },
      status: 200,
      expectEffect: codesAre([['A', 'Before', 'active', 1]], 'share'),
    },
    'an import of codes': {
      prepare: async () => importing,
      status: 207,
      rows: [201, [400, 'VALIDATION.field.length'], 201, [409, 'CONFLICT.code.exists']],
      expectEffect: codesAre(
        [
          ['A', 'Before', 'active', 1],
          ['B', 'Before', 'active', 1],
        ],
        'import',
      ),
    },
    'a bulk update of codes': {
      async prepare(tenant) {
        await call(tenant, 'made', importing)
        const made = (await service.items(tenant, 'code')).map(asCode)
        const [a, b] = made
          .toSorted((one, other) => (one.code < other.code ? -1 : 1))
          .map((stored) => ({ id: stored.id, if_match: codeEtag(stored, localSettings) }))
        const items = [
          { ...a, name: 'After' },
          { ...b, code: 'C' },
          { ...b, name: 'After' },
          { ...a, name: 'Again' },
        ]
        return { method: 'POST', path: '/codes:bulkUpdate', body: { items } }
      },
      status: 207,
      rows: [200, [403, 'AUTHZ.field.denied'], 200, [412, 'CONFLICT.etag.mismatch']],
      expectEffect: codesAre(
        [
          ['A', 'After', 'active', 2],
          ['B', 'After', 'active', 2],
        ],
        ...['import', 'update', 'update'],
      ),
    },
    'a verification that frees the part of a deleted code': {
      async prepare(tenant) {
        await cartWithDeletedCode(tenant, service, discounts)
        const body = { code: 'QUARTER' }
        return { method: 'POST', path: '/discount/verify', headers: { 'X-Cart-Id': 'c1' }, body }
      },
      status: 200,
      async expectEffect(tenant) {
        expect(await discounts.linesOf(tenant, 'c1')).toEqual(['QUARTER 150'])
        expect(await publishedBy(tenant, service)).toEqual(['FIXED 0', 'QUARTER 150'])
      },
    },
  }
}

/** Creates a cart of 600 with a fixed code and a percentage, of which the fixed code is deleted. */
export async function cartWithDeletedCode(
  tenant: string,
  service: Service,
  { cart, makeCode, verify }: DiscountCalls,
): Promise<void> {
  await cart(tenant, 'c1', 600)
  const { json } = await makeCode(tenant, 'FIXED', 'fixed-500')
  await makeCode(tenant, 'QUARTER', 'percent-25')
  for (const text of ['FIXED', 'QUARTER']) await verify(tenant, text, { 'X-Cart-Id': 'c1' })
  const as = { tenant, role: 'Admin', scope: 'codes:write' }
  await service.call({ method: 'DELETE', path: `/codes/${json.id}`, as })
}

/** Returns what the last commit of a tenant's cart published. */
export async function publishedBy(tenant: string, service: Service): Promise<string[]> {
  const cart = await findCart(service.table, tenant, 'c1')
  const stated = latestEventsOf(cart as never).filter(({ version }) => version === 1)
  return stated.map(({ data: { code, amount, version } }) =>
    version === cart?.version ? `${code} ${amount}` : `${code} ${amount} of another version`,
  )
}
