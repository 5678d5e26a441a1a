import { describe, expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import * as v from 'valibot'
import { softDeleteCode } from '#shared/codes/code.ts'
import { CodeName } from '#shared/codes/code-name.ts'
import { codeStates } from '#shared/codes/code-states.ts'
import { liveStates } from '#shared/settings/live-states.ts'
import { anyText } from '#test/formats/any-text.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { admin, codeCalls, codeOf, editor, made, resultsOf, storeCodes } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

const exchanged = ['code', 'type', 'name', 'expiry_at', 'state'] as const
const header = exchanged.join()

const newTenant = () => uniqueTenant('round')
const exportOf = async (tenant: string) => (await calls.exportFile(editor(tenant))).body ?? ''
const exchangedOf = (csv: string) =>
  parse<Record<string, string>>(csv, { columns: true }).map((row) => exchanged.map((column) => row[column]))
const importInto = async (tenant: string, file: string, { by = calls, as = editor } = {}) =>
  resultsOf(await by.importFile(as(tenant), file))

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
  const check = async (wanted: Record<string, unknown>[]) => {
    const [from, to] = [newTenant(), newTenant()]
    const codes = await Promise.all(wanted.map((one) => made(calls, from, one)))
    const exported = await exportOf(from)
    expect(await importInto(to, exported)).toEqual(codes.map(() => 201))

    const stored = (await service.items(to, 'code')).map((item) => exchanged.map((field) => item[field]))
    expect(stored.sort()).toEqual(codes.map(({ json }) => exchanged.map((field) => json[field])).sort())
    expect(exchangedOf(await exportOf(to)).sort()).toEqual(exchangedOf(exported).sort())

    expect(await importInto(from, exported)).toEqual(codes.map(() => 'CONFLICT.code.exists'))
    expect(await exportOf(from)).toBe(exported)
  }
  await fc.assert(fc.asyncProperty(codes, check), { numRuns: 15, seed: 20_260_301 })
})

describe('a code in each state', () => {
  const textOf = (state: string) => state.replace('_', '-').toUpperCase()
  const line = (state: string) => `A,percent-10,Ten off,2099-01-01T00:00:00.000Z,${state}\n`
  /** Stores a code in each state, and returns the tenant. */
  async function withStates(): Promise<string> {
    const tenant = newTenant()
    const codes = codeStates.map((state) => {
      const code = codeOf(tenant, { code: textOf(state) })
      return state === 'soft_deleted' ? softDeleteCode(code, localSettings, 0) : { ...code, state }
    })
    await storeCodes(service, codes)
    return tenant
  }
  const statesOf = async (tenant: string) =>
    Object.fromEntries((await service.items(tenant, 'code')).map((item) => [item.code, item.state]))
  const likewise = async (changes: object) =>
    codeCalls(
      await startService({ tableName: service.tableName, settings: { ...localSettings, ...changes } }),
    )

  test('is the same after an export and an import into another tenant', async () => {
    const [from, to] = [await withStates(), newTenant()]
    const exported = await exportOf(from)
    expect(await importInto(to, exported)).toEqual(liveStates.map(() => 201))
    expect(await statesOf(to)).toEqual(Object.fromEntries(liveStates.map((state) => [textOf(state), state])))
    expect(exchangedOf(await exportOf(to))).toEqual(exchangedOf(exported))
  })

  test('is rejected if it is soft-deleted, and never restored', async () => {
    const [from, to] = [await withStates(), newTenant()]
    const { body = '' } = await calls.exportFile(admin(from), { include_deleted: 'true' })
    expect(body).toContain('SOFT-DELETED')
    expect(await importInto(to, body)).toEqual([...liveStates.map(() => 201), 'CONFLICT.soft_deleted'])
    expect(Object.keys(await statesOf(to)).sort()).toEqual(liveStates.map(textOf).sort())
  })

  test.each([
    ['', 201, 'active'],
    ['archived', 201, 'archived'],
    ['soft_deleted', 'CONFLICT.soft_deleted', undefined],
    ['Archived', 'VALIDATION.field.enum', undefined],
  ])('that a row names as %j gives %s', async (cell, result, state) => {
    const tenant = newTenant()
    expect(await importInto(tenant, `${header}\n${line(cell)}`)).toEqual([result])
    expect((await statesOf(tenant)).A).toBe(state)
  })

  test('cannot be made active by an Editor where new codes are drafts, but by an Admin', async () => {
    const by = await likewise({ 'codes.initialState': 'draft' })
    const exported = await exportOf(await withStates())
    const [draft, active] = [liveStates.indexOf('draft'), liveStates.indexOf('active')]
    const answer = await by.importFile(editor(newTenant()), exported)
    expect([draft, active].map((row) => resultsOf(answer)[row])).toEqual([201, 'AUTHZ.field.denied'])
    expect(answer.json.items[active].error.details.fields).toMatchObject({
      state: { reason: 'role', allowed: ['Admin'], actual: 'string' },
    })
    expect(await importInto(newTenant(), exported, { by, as: admin })).toEqual(liveStates.map(() => 201))
  })

  test('is known to an import even if exports leave it out', async () => {
    const setting = { ...localSettings['codes.export'], columns: ['code' as const] }
    const tenant = newTenant()
    const by = await likewise({ 'codes.export': setting })
    expect(await importInto(tenant, `${header}\n${line('archived')}`, { by })).toEqual([201])
    expect(await statesOf(tenant)).toEqual({ A: 'archived' })
  })
})
