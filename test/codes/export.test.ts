import { describe, expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import { type Code, makeCode } from '#shared/codes/code.ts'
import { newCode } from '#shared/codes/code-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { type Call, type ServiceOptions, startService } from '../support/service.ts'
import { localSettings, profile } from '../support/settings.ts'

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

function codeOf(tenant: string, code: string, name = 'Ten off', clock = systemClock): Code {
  const fields = { code, type: 'percent-10', name, expiry_at: '2099-01-01T00:00:00.000Z' }
  return makeCode(fields, { id: newId(clock), tenant, createdBy: 'jane@example.com' }, localSettings)
}

async function store(codes: Code[]): Promise<Code[]> {
  for (let from = 0; from < codes.length; from += 50) {
    const writes = codes.slice(from, from + 50).flatMap(newCode)
    await service.table.transact(writes.map(({ onFailure: _, ...change }) => change))
  }
  return codes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

const storeMany = (tenant: string, count: number) =>
  store(Array.from({ length: count }, (_, n) => codeOf(tenant, `CODE-${n}`)))
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
    const codes = await storeMany(tenant, 12)
    const answer = await download(tenant)
    expect(answer).toMatchObject({ status: 200, body: fileOf(codes) })
    expect(answer.headers['Content-Type']).toBe('text/csv')
    expect(answer.headers['Cache-Control']).toBe('no-store')
  })

  test('takes its columns and their order from the profile', async () => {
    const tenant = newTenant()
    const [code] = await storeMany(tenant, 1)
    const other = await likewise({ settings: withLimits({ columns: ['state', 'tenant_id', 'code'] }) })
    const answer = await download(tenant, '', {}, other)
    expect(answer.body).toBe(`state,tenant_id,code\r\nactive,${tenant},${code?.code}\r\n`)
  })

  test('of a tenant without codes returns only the header', async () => {
    const answer = await download(newTenant())
    expect(answer).toMatchObject({ status: 200, body: `${columns}\r\n` })
  })

  test.each([
    ['2026-03-01T23:59:59.999Z', '20260301'],
    ['2026-12-31T00:00:00.000Z', '20261231'],
  ])('of %s is named by its tenant and the UTC date', async (time, day) => {
    const clock = { ...systemClock, now: () => Date.parse(time) }
    const answer = await download('shop_1', '', {}, await likewise({ clock }))
    expect(answer.headers['Content-Disposition']).toBe(`attachment; filename="codes_shop_1_${day}.csv"`)
  })

  test('omits soft-deleted codes for an Editor', async () => {
    const tenant = newTenant()
    const [kept, deleted] = await storeMany(tenant, 2)
    await softDelete(tenant, deleted?.id ?? '')
    expect(idsOf((await download(tenant)).body)).toEqual([kept?.id])
    expect(idsOf((await download(tenant, '?include_deleted=false')).body)).toEqual([kept?.id])
    const refused = await download(tenant, '?include_deleted=true')
    expect(outcome(refused)).toBe('403 AUTHZ.filter.denied')
    expect(refused.json.error.details.fields.include_deleted).toMatchObject({ reason: 'role', actual: 4 })
    expect((await audited(tenant)).at(-1)).toEqual(['export', 'codes', 'deny', 'AUTHZ.filter.denied'])
  })

  test.each(['Admin', 'Service'])(
    'includes soft-deleted codes for a role that may see them (%s)',
    async (role) => {
      const tenant = newTenant()
      const [kept, deleted] = await storeMany(tenant, 2)
      await softDelete(tenant, deleted?.id ?? '')
      const as = { tenant, role, scope }
      const rows = rowsOf((await download(tenant, '?include_deleted=true', { as })).body)
      expect(rows.map(({ id, state, soft_deleted }) => [id, state, soft_deleted])).toEqual([
        [kept?.id, 'active', 'false'],
        [deleted?.id, 'soft_deleted', 'true'],
      ])
      expect(idsOf((await download(tenant, '', { as })).body)).toEqual([kept?.id])
    },
  )

  test.each(['?include_deleted=yes', '?include_deleted=', '?deleted=true', '?columns=created_by'])(
    'rejects an unknown parameter or value: %s',
    async (query) => {
      const as = { tenant: 'unknown', role: 'Admin', scope }
      expect((await download('unknown', query, { as })).status).toBe(400)
    },
  )

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', "'=1", '＝1', '=cmd|"/c calc"!A1'])(
    'guards a name that is %s against execution by a spreadsheet',
    async (name) => {
      const tenant = newTenant()
      await store([codeOf(tenant, '-CODE', name)])
      const [row] = rowsOf((await download(tenant)).body)
      expect(row).toMatchObject({ code: "'-CODE", name: `'${name}` })
    },
  )

  test('contains no personal data, and no profile can add any', async () => {
    const tenant = newTenant()
    await storeMany(tenant, 3)
    const { body } = await download(tenant, '', { as: { tenant, role: 'Admin', sub: 'joe', scope } })
    expect(body).not.toMatch(/jane|joe|created_by/)
    expect(() => withLimits({ columns: ['id', 'created_by'] })).toThrow('codes.export')
  })

  test('has the states of the codes in every profile whose exports can be imported', () => {
    const columns = ['code', 'type', 'name', 'expiry_at']
    expect(() => withLimits({ columns })).toThrow('codes.export at columns: state')
    expect(() => withLimits({ columns: [...columns, 'state'] })).not.toThrow()
  })

  test('includes codes created by a machine whose clock is ahead', async () => {
    const tenant = newTenant()
    const ahead = { ...systemClock, now: () => Date.now() + 60_000 }
    const [code] = await store([codeOf(tenant, 'AHEAD', 'Ten off', ahead)])
    expect(idsOf((await download(tenant)).body)).toEqual([code?.id])
  })
})

describe('the tenant of an export', () => {
  test('is the own tenant for an Editor; another tenant looks absent and the attempt is audited', async () => {
    const [tenant, other] = [newTenant(), newTenant()]
    const [code] = await storeMany(tenant, 1)
    await storeMany(other, 2)
    expect(idsOf((await download(tenant, `?tenant=${tenant}`)).body)).toEqual([code?.id])
    const refused = await download(tenant, `?tenant=${other}`)
    expect(outcome(refused)).toBe('404 AUTHZ.scope.tenant')
    expect(refused.body).not.toContain(other)
    expect((await audited(tenant)).at(-1)).toEqual(['export', 'codes', 'deny', 'AUTHZ.scope.tenant'])
    expect(await service.items(other, 'audit')).toEqual([])
  })

  test('can be named by an Admin, and is the one whose audit records the export', async () => {
    const [home, other] = [newTenant(), newTenant()]
    const codes = await storeMany(other, 2)
    const as = { tenant: home, role: 'Admin', sub: 'root', scope }
    const headers = { 'X-Correlation-Id': 'export-1' }
    const answer = await download(home, `?tenant=${other}`, { as, headers })
    expect(answer.body).toBe(fileOf(codes))
    expect(answer.headers['Content-Disposition']).toContain(`codes_${other}_`)
    expect(await service.items(home, 'audit')).toEqual([])
    expect(await service.items(other, 'audit')).toMatchObject([
      {
        actor_id: 'root',
        token_sub: 'root',
        role: 'Admin',
        tenant_id: other,
        action: 'export',
        target: 'codes',
        result: 'allow',
        correlation_id: 'export-1',
      },
    ])
  })
})

describe('an export that is too large for a response', () => {
  test('is a file of the tenant, readable by link', async () => {
    const tenant = newTenant()
    const codes = await storeMany(tenant, 30)
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

  test('is neither written nor audited for HEAD', async () => {
    const tenant = newTenant()
    await storeMany(tenant, 3)
    const small = await likewise({ settings: withLimits({ inlineMaxBytes: 10 }) })
    const head = await download(tenant, '', { method: 'HEAD' }, small)
    expect([head.status, head.headers.Location]).toEqual([303, undefined])
    expect([...small.files.keys()]).toEqual([])
    expect(await audited(tenant)).toEqual([])
  })

  test('begins at the first byte beyond the limit, counted in bytes', async () => {
    const tenant = newTenant()
    const file = fileOf(await store([codeOf(tenant, 'BYTES', 'Zehn für dich 😀')]))
    for (const [inlineMaxBytes, status] of [
      [Buffer.byteLength(file), 200],
      [Buffer.byteLength(file) - 1, 303],
    ]) {
      const settings = withLimits({ inlineMaxBytes })
      const answer = await download(tenant, '', {}, await likewise({ settings }))
      expect([answer.status, answer.body]).toEqual([status, status === 200 ? file : undefined])
    }
  })

  test('is stored below the prefix of the exported tenant', async () => {
    const [home, other] = [newTenant(), newTenant()]
    await storeMany(other, 3)
    const small = await likewise({ settings: withLimits({ inlineMaxBytes: 10 }) })
    const as = { tenant: home, role: 'Admin', scope }
    expect((await download(home, `?tenant=${other}`, { as }, small)).status).toBe(303)
    expect([...small.files.keys()]).toEqual([expect.stringMatching(`^exports/${other}/`)])
  })
})

describe('an export of more rows than the profile permits', () => {
  test.each([
    ['as a response', {}],
    ['as a file', { inlineMaxBytes: 100 }],
  ])('is rejected %s, audited, and leaves nothing behind', async (_, limits) => {
    const tenant = newTenant()
    await storeMany(tenant, 20)
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
    const [, deleted] = await storeMany(tenant, 2)
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
