import { describe, expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import * as v from 'valibot'
import { makeCode, softDeleteCode } from '#shared/codes/code.ts'
import { CodeName } from '#shared/codes/code-name.ts'
import { states } from '#shared/codes/code-states.ts'
import { newCode } from '#shared/codes/code-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { anyText } from '../formats/any-text.ts'
import { startService } from '../support/service.ts'
import { localSettings } from '../support/settings.ts'

const scope = 'codes:read codes:write'
const exchanged = ['code', 'type', 'name', 'expiry_at', 'state'] as const

interface Row {
  status: number
  error?: { code: string }
}
const service = await startService()

const newTenant = () => uniqueTenant('round')
const as = (tenant: string) => ({ tenant, role: 'Editor', scope })
const exportOf = async (tenant: string) =>
  (await service.call({ path: '/codes:export', as: as(tenant) })).body ?? ''
const exchangedOf = (csv: string) =>
  parse<Record<string, string>>(csv, { columns: true }).map((row) => exchanged.map((column) => row[column]))

async function create(tenant: string, body: object): Promise<Item> {
  const headers = { 'Idempotency-Key': crypto.randomUUID() }
  const answer = await service.call({ method: 'POST', path: '/codes', as: as(tenant), headers, body })
  expect(answer.status).toBe(201)
  return answer.json
}

async function importInto(tenant: string, body: string) {
  const headers = { 'Content-Type': 'text/csv', 'Idempotency-Key': crypto.randomUUID() }
  const answer = await service.call({ method: 'POST', path: '/codes:import', as: as(tenant), headers, body })
  expect(answer.status).toBe(207)
  return answer.json.items.map(({ status, error }: Row) => error?.code ?? status)
}

const formula = fc.constantFrom('', '=', '+', '-', '@', "'", "'=", "''-", '＝', '"', ',', '=cmd|"/c"!A1, ')
const name = fc
  .tuple(formula, anyText)
  .map((parts) => parts.join(''))
  .filter((text) => v.is(CodeName(localSettings), text))
const code = fc.record({
  code: fc.stringMatching(/^[ \t]?[A-Za-z0-9-]{1,16}$/),
  type: fc.constantFrom(...Object.keys(localSettings['codes.types'])),
  name,
  expiry_at: fc
    .date({ min: new Date('2090-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString()),
})
const codes = fc.uniqueArray(code, {
  minLength: 1,
  maxLength: 6,
  selector: (one) => one.code.trim().toUpperCase(),
})

test('codes with any text and name are equal after an export and an import into another tenant', async () => {
  const check = async (wanted: object[]) => {
    const [from, to] = [newTenant(), newTenant()]
    const made = await Promise.all(wanted.map((one) => create(from, one)))
    const exported = await exportOf(from)
    expect(await importInto(to, exported)).toEqual(made.map(() => 201))

    const stored = (await service.items(to, 'code')).map((item) => exchanged.map((field) => item[field]))
    expect(stored.sort()).toEqual(made.map((item) => exchanged.map((field) => item[field])).sort())
    expect(exchangedOf(await exportOf(to)).sort()).toEqual(exchangedOf(exported).sort())

    expect(await importInto(from, exported)).toEqual(made.map(() => 'CONFLICT.code.exists'))
    expect(await exportOf(from)).toBe(exported)
  }
  await fc.assert(fc.asyncProperty(codes, check), { numRuns: 15, seed: 20_260_301 })
})

describe('a code in each state', () => {
  const fields = { type: 'percent-10', name: 'Ten off', expiry_at: '2099-01-01T00:00:00.000Z' }
  /** Stores a code in each state, and returns the tenant. */
  async function withStates(settings = localSettings): Promise<string> {
    const tenant = newTenant()
    for (const state of states) {
      const origin = { id: newId(systemClock), tenant, createdBy: 'u1' }
      const made = makeCode({ code: state.replace('_', '-').toUpperCase(), ...fields }, origin, settings)
      const code = state === 'soft_deleted' ? softDeleteCode(made, settings, 0) : { ...made, state }
      await service.table.transact(newCode(code).map(({ onFailure: _, ...change }) => change))
    }
    return tenant
  }
  const statesOf = async (tenant: string) =>
    Object.fromEntries((await service.items(tenant, 'code')).map((item) => [item.code, item.state]))
  const likewise = (settings: Settings) => startService({ tableName: service.tableName, settings })

  test('is the same after an export and an import into another tenant', async () => {
    const [from, to] = [await withStates(), newTenant()]
    const exported = await exportOf(from)
    expect(await importInto(to, exported)).toEqual([201, 201, 201])
    expect(await statesOf(to)).toEqual({ DRAFT: 'draft', ACTIVE: 'active', ARCHIVED: 'archived' })
    expect(exchangedOf(await exportOf(to))).toEqual(exchangedOf(exported))
  })

  test('is rejected if it is soft-deleted, and never restored', async () => {
    const [from, to] = [await withStates(), newTenant()]
    const admin = { ...as(from), role: 'Admin' }
    const everything = await service.call({ path: '/codes:export?include_deleted=true', as: admin })
    const lines = (everything.body ?? '').split('\r\n')
    expect(lines[4]).toContain('SOFT-DELETED')
    expect(await importInto(to, lines.join('\r\n'))).toEqual([201, 201, 201, 'CONFLICT.soft_deleted'])
    expect(Object.keys(await statesOf(to)).sort()).toEqual(['ACTIVE', 'ARCHIVED', 'DRAFT'])
  })

  const header = 'code,type,name,expiry_at,state'
  test.each([
    ['', 201, 'active'],
    ['draft', 201, 'draft'],
    ['active', 201, 'active'],
    ['archived', 201, 'archived'],
    ['soft_deleted', 'CONFLICT.soft_deleted', undefined],
    ['Archived', 'VALIDATION.field.enum', undefined],
    ['expired', 'VALIDATION.field.enum', undefined],
  ])('that a row names as %j gives %s', async (cell, result, state) => {
    const tenant = newTenant()
    expect(await importInto(tenant, `${header}\n${['A', ...Object.values(fields), cell]}\n`)).toEqual([
      result,
    ])
    expect((await statesOf(tenant)).A).toBe(state)
  })

  test('cannot be made active by an Editor where new codes are drafts, but by an Admin', async () => {
    const service = await likewise({ ...localSettings, 'codes.initialState': 'draft' })
    const body = await exportOf(await withStates())
    const importAs = async (role: string) => {
      const tenant = newTenant()
      const headers = { 'Content-Type': 'text/csv', 'Idempotency-Key': 'states' }
      const call = { method: 'POST', path: '/codes:import', as: { ...as(tenant), role }, headers, body }
      const { json } = await service.call(call)
      return json.items
    }
    const outcomesOf = (items: Row[]) => items.map(({ status, error }) => error?.code ?? status)
    const items = await importAs('Editor')
    expect(outcomesOf(items)).toEqual([201, 'AUTHZ.field.denied', 201])
    expect(items[1].error.details.fields).toMatchObject({
      state: { reason: 'role', allowed: ['Admin'], actual: 'active' },
    })
    expect(outcomesOf(await importAs('Admin'))).toEqual([201, 201, 201])
  })

  test('is known to an import even if exports leave it out', async () => {
    const setting = { ...localSettings['codes.export'], columns: ['code' as const] }
    const service = await likewise({ ...localSettings, 'codes.export': setting })
    const tenant = newTenant()
    const headers = { 'Content-Type': 'text/csv', 'Idempotency-Key': 'state' }
    const body = `${header}\n${['A', ...Object.values(fields), 'archived']}\n`
    const call = { method: 'POST', path: '/codes:import', as: as(tenant), headers, body }
    expect((await service.call(call)).json.counts.succeeded).toBe(1)
    expect(await statesOf(tenant)).toEqual({ A: 'archived' })
  })
})
