import { expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import * as v from 'valibot'
import { CodeName } from '#shared/codes/code-name.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { anyText } from '../formats/any-text.ts'
import { startService } from '../support/service.ts'
import { localSettings } from '../support/settings.ts'

const scope = 'codes:read codes:write'
const exchanged = ['code', 'type', 'name', 'expiry_at'] as const

let tenants = 0
const service = await startService()

const newTenant = () => `round-${tenants++}`
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
  return answer.json.items.map(({ status, error }: { status: number; error?: { code: string } }) =>
    error ? error.code : status,
  )
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

test('an import of an export with soft-deleted codes does not create them', async () => {
  const [from, to] = [newTenant(), newTenant()]
  const fields = { type: 'percent-10', name: 'Ten off', expiry_at: '2099-01-01T00:00:00Z' }
  for (const text of ['KEPT', 'GONE']) {
    const { id } = await create(from, { code: text, ...fields })
    if (text === 'GONE') await service.call({ method: 'DELETE', path: `/codes/${id}`, as: as(from) })
  }
  const everything = await service.call({
    path: '/codes:export?include_deleted=true',
    as: { ...as(from), role: 'Admin' },
  })
  expect(await importInto(to, everything.body ?? '')).toEqual([201, 'CONFLICT.soft_deleted'])
  expect((await service.items(to, 'code')).map((item) => item.code)).toEqual(['KEPT'])
})
