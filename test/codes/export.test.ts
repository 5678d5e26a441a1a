import { describe, expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import type { Code } from '#shared/codes/code.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { countIn } from '#shared/platform/table/window.ts'
import { outcome } from '#test/support/outcome.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { type Call, type ServiceOptions, startService } from '../support/service.ts'
import { localSettings, profile } from '../support/settings.ts'
import { codeOf, storeCodes, storeMany } from './code-calls.ts'

const columns = 'id,code,type,name,expiry_at,state,soft_deleted,created_at,updated_at'
const scope = 'codes:read codes:write'
const service = await startService()

const newTenant = () => uniqueTenant('exporter')
/** Starts the service on the same table with another profile, clock or client. */
const likewise = (options: ServiceOptions) => startService({ tableName: service.tableName, ...options })
const withLimits = (limits: object) =>
  profile('shared/settings/profiles/local.json', {
    'codes.export': { ...localSettings['codes.export'], ...limits },
  })
/** Smaller than any profile permits, so a few codes need many pages. */
const inPagesOf = (readBudget: number, limits: object) => ({
  ...withLimits(limits),
  'lists.readBudget': readBudget,
})

const download = (tenant: string, query = '', call: Partial<Call> = {}, from = service) =>
  from.call({ path: `/codes:export${query}`, as: { tenant, role: 'Editor', scope }, ...call })
const softDelete = (tenant: string, id: string) =>
  service.call({ method: 'DELETE', path: `/codes/${id}`, as: { tenant, role: 'Editor', scope } })
const rowsOf = (csv: string | undefined): Record<string, string>[] => parse(csv ?? '', { columns: true })
const idsOf = (csv: string | undefined) => rowsOf(csv).map(({ id }) => id)
const fileOf = (csv: Code[]) => [columns, ...csv.map(lineOf), ''].join('\r\n')
const lineOf = ({ id, code, type, name, expiry_at, created_at, updated_at }: Code) =>
  [id, code, type, name, expiry_at, 'active', 'false', created_at, updated_at].join(',')
const audited = async (tenant: string) =>
  (await service.items(tenant, 'audit')).map(({ action, target, result, reason }) => [
    action,
    target,
    result,
    reason,
  ])

describe('GET /codes:export', () => {
  test('returns a CSV file with the columns of the profile in their order, oldest code first', async () => {
    const tenant = newTenant()
    const codes = await storeMany(service, tenant, 12)
    const answer = await download(tenant)
    expect(answer).toMatchObject({ status: 200, body: fileOf(codes) })
    expect(answer.headers['Content-Type']).toBe('text/csv')
    expect(answer.headers['Cache-Control']).toBe('no-store')
  })

  test.each([
    ['2026-03-01T23:59:59.999Z', '20260301'],
    ['2026-12-31T00:00:00.000Z', '20261231'],
  ])('of %s is named by its tenant and the UTC date', async (time, day) => {
    const clock = { ...systemClock, now: () => Date.parse(time) }
    const answer = await download('shop_1', '', {}, await likewise({ clock }))
    expect(answer.headers['Content-Disposition']).toBe(`attachment; filename="codes_shop_1_${day}.csv"`)
  })

  test('counts what it reads after two pages against what its caller may search', async () => {
    const tenant = newTenant()
    await storeMany(service, tenant, 12)
    const now = Date.now()
    const clock = { ...systemClock, now: () => now }
    const paged = await likewise({ clock, settings: inPagesOf(5, {}) })
    const whole = await likewise({ clock })
    const outcomeFor = async (sub: string, from: typeof service) =>
      outcome(await download(tenant, '', { as: { tenant, role: 'Editor', scope, sub } }, from))
    expect(await outcomeFor('u1', paged)).toBe('200')
    const subject = [
      'codes.export',
      tenant,
      'search',
      JSON.stringify([localSettings['auth.issuers'][0]?.issuer, 'u1']),
    ]
    await countIn([{ subject, limit: 1e6, windowSeconds: 10, amount: 5000 }], service.table, clock)
    expect(await outcomeFor('u1', paged)).toBe('429 RATE_LIMIT.exceeded')
    expect(await outcomeFor('u1', whole)).toBe('200')
    expect(await outcomeFor('u2', paged)).toBe('200')
  })

  test('omits soft-deleted codes for an Editor', async () => {
    const tenant = newTenant()
    const [kept, deleted] = await storeMany(service, tenant, 2)
    await softDelete(tenant, deleted?.id ?? '')
    expect(idsOf((await download(tenant)).body)).toEqual([kept?.id])
    expect(idsOf((await download(tenant, '?include_deleted=0')).body)).toEqual([kept?.id])
    const refused = await download(tenant, '?include_deleted=true')
    expect(outcome(refused)).toBe('403 AUTHZ.filter.denied')
    expect(refused.json.error.details.fields.include_deleted).toMatchObject({
      reason: 'role',
      actual: 'string',
    })
    expect((await audited(tenant)).at(-1)).toEqual(['export', 'codes', 'deny', 'AUTHZ.filter.denied'])
  })

  test('includes soft-deleted codes for a role that may see them', async () => {
    const tenant = newTenant()
    const [kept, deleted] = await storeMany(service, tenant, 2)
    await softDelete(tenant, deleted?.id ?? '')
    const as = { tenant, role: 'Service', scope }
    const rows = rowsOf((await download(tenant, '?include_deleted=1', { as })).body)
    expect(rows.map(({ id, state, soft_deleted }) => [id, state, soft_deleted])).toEqual([
      [kept?.id, 'active', 'false'],
      [deleted?.id, 'soft_deleted', 'true'],
    ])
    expect(idsOf((await download(tenant, '', { as })).body)).toEqual([kept?.id])
  })

  test('rejects another value of include_deleted', async () => {
    const as = { tenant: 'unknown', role: 'Admin', scope }
    expect((await download('unknown', '?include_deleted=yes', { as })).status).toBe(400)
  })

  test('guards cells against execution by a spreadsheet', async () => {
    const name = '=cmd|"/c calc"!A1'
    const tenant = newTenant()
    await storeCodes(service, [codeOf(tenant, { code: '-CODE', name })])
    const [row] = rowsOf((await download(tenant)).body)
    expect(row).toMatchObject({ code: "'-CODE", name: `'${name}` })
  })

  test('contains no personal data, and no profile can add any', async () => {
    const tenant = newTenant()
    await storeMany(service, tenant, 3)
    const { body } = await download(tenant, '', { as: { tenant, role: 'Admin', sub: 'joe', scope } })
    expect(body).not.toMatch(/jane|joe|created_by/)
    expect(() => withLimits({ columns: ['id', 'created_by'] })).toThrow('codes.export')
  })

  test('has the states of the codes in every profile whose exports can be imported', () => {
    const columns = ['code', 'type', 'name', 'expiry_at']
    expect(() => withLimits({ columns })).toThrow('codes.export at columns: expected state')
    expect(() => withLimits({ columns: [...columns, 'state'] })).not.toThrow()
  })

  test('includes codes created by a machine whose clock is ahead', async () => {
    const tenant = newTenant()
    const ahead = { ...systemClock, now: () => Date.now() + 60_000 }
    const [code] = await storeCodes(service, [codeOf(tenant, {}, ahead)])
    expect(idsOf((await download(tenant)).body)).toEqual([code?.id])
  })
})

describe('the tenant of an export', () => {
  test('can be named by an Admin, and is the one whose audit records the export', async () => {
    const [home, other] = [newTenant(), newTenant()]
    const codes = await storeMany(service, other, 2)
    const as = { tenant: home, role: 'Admin', sub: 'root', scope }
    const headers = { 'X-Correlation-Id': 'export-1' }
    const answer = await download(home, `?tenant=${other}`, { as, headers })
    expect(answer.body).toBe(fileOf(codes))
    expect(answer.headers['Content-Disposition']).toContain(`codes_${other}_`)
    const small = await likewise({ settings: withLimits({ inlineMaxBytes: 10 }) })
    expect((await download(home, `?tenant=${other}`, { as }, small)).status).toBe(303)
    expect([...small.files.keys()]).toEqual([expect.stringMatching(`^exports/${other}/`)])
    expect(await service.items(home, 'audit')).toEqual([])
    const [record] = await service.items(other, 'audit')
    expect(record).toMatchObject({
      actor_id: 'root',
      token_sub: 'root',
      role: 'Admin',
      tenant_id: other,
      action: 'export',
      target: 'codes',
      result: 'allow',
      correlation_id: 'export-1',
    })
  })
})

describe('an export that is too large for a response', () => {
  test('is a file of the tenant, readable by link', async () => {
    const tenant = newTenant()
    const codes = await storeMany(service, tenant, 30)
    const { linkSeconds } = localSettings['codes.export']
    const small = await likewise({ settings: inPagesOf(7, { inlineMaxBytes: 1000 }) })
    const answer = await download(tenant, '', {}, small)
    expect([answer.status, answer.body, 'Content-Type' in answer.headers]).toEqual([303, undefined, false])
    const [[key, file] = []] = small.files
    expect(key).toMatch(new RegExp(`^exports/${tenant}/[0-9a-f-]{36}\\.csv$`))
    expect([file?.bytes.toString(), file?.mediaType]).toEqual([fileOf(codes), 'text/csv'])
    expect(answer.headers.Location).toMatch(
      new RegExp(
        `^https://files\\.example/${key}\\?name=codes_${tenant}_\\d{8}\\.csv&seconds=${linkSeconds}&`,
      ),
    )
    expect(await audited(tenant)).toContainEqual(['export', 'codes', 'allow', 'allowed'])
  })

  test('is neither written, audited nor read to its end for HEAD', async () => {
    const tenant = newTenant()
    await storeMany(service, tenant, 3)
    const small = await likewise({ settings: inPagesOf(1, { inlineMaxBytes: 10, maxRows: 2 }) })
    const head = await download(tenant, '', { method: 'HEAD' }, small)
    expect([head.status, head.headers.Location]).toEqual([303, undefined])
    expect([...small.files.keys()]).toEqual([])
    expect(await audited(tenant)).toEqual([])
  })

  test('begins at the first byte beyond the limit, counted in bytes', async () => {
    const tenant = newTenant()
    const file = fileOf(await storeCodes(service, [codeOf(tenant, { name: 'Zehn für dich 😀' })]))
    for (const [inlineMaxBytes, status] of [
      [Buffer.byteLength(file), 200],
      [Buffer.byteLength(file) - 1, 303],
    ]) {
      const settings = withLimits({ inlineMaxBytes })
      const answer = await download(tenant, '', {}, await likewise({ settings }))
      expect([answer.status, answer.body]).toEqual([status, status === 200 ? file : undefined])
    }
  })
})

describe('an export of more rows than the profile permits', () => {
  test.each([
    ['as a response', {}],
    ['as a file', { inlineMaxBytes: 100 }],
  ])('is rejected %s, audited, and leaves nothing behind', async (_, limits) => {
    const tenant = newTenant()
    await storeMany(service, tenant, 20)
    const within = await likewise({ settings: inPagesOf(6, { ...limits, maxRows: 20 }) })
    expect((await download(tenant, '', {}, within)).status).toBeLessThan(400)
    const beyond = await likewise({ settings: inPagesOf(6, { ...limits, maxRows: 19 }) })
    const answer = await download(tenant, '', {}, beyond)
    expect(outcome(answer)).toBe('409 POLICY.export.row_limit')
    expect(answer.json.error.details).toEqual({ max: 19, alternative: 'GET /codes' })
    expect(beyond.files.size).toBe(0)
    expect((await audited(tenant)).at(-1)).toEqual(['export', 'codes', 'deny', 'POLICY.export.row_limit'])
  })

  test('does not count omitted codes', async () => {
    const tenant = newTenant()
    const [, deleted] = await storeMany(service, tenant, 2)
    await softDelete(tenant, deleted?.id ?? '')
    const one = await likewise({ settings: withLimits({ maxRows: 1 }) })
    expect((await download(tenant, '', {}, one)).status).toBe(200)
    const oneInFile = await likewise({ settings: withLimits({ maxRows: 1, inlineMaxBytes: 10 }) })
    expect((await download(tenant, '', {}, oneInFile)).status).toBe(303)
    const all = '?include_deleted=true'
    const as = { tenant, role: 'Admin', scope }
    expect(outcome(await download(tenant, all, { as }, oneInFile))).toBe('409 POLICY.export.row_limit')
  })
})
