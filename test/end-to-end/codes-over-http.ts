import { expect, test } from '@jest/globals'
import type { Deployment, HttpAnswer, Send } from './deployment.ts'

const scope = 'codes:read codes:write'
const tenant = 'coded'
const viewer = { tenant, role: 'Viewer', sub: 'viewer', scope }
const editor = { tenant, role: 'Editor', sub: 'editor', scope }
const admin = { tenant: 'head', role: 'Admin', sub: 'admin', scope }
const expiry_at = '2099-01-01T00:00:00Z'
const code = { code: 'summer-10', type: 'percent-10', name: 'Summer 🌞', expiry_at }

/** A Viewer, an Editor and an Admin use discount codes within their permissions, and are denied the rest. */
export function codesOverHttp(deployment: () => Deployment): void {
  let keys = 0
  const send = (path: string, options: Send = {}) => deployment().send(path, options)
  const post = (path: string, body: unknown, options: Send = {}) =>
    send(path, {
      method: 'POST',
      body,
      ...options,
      headers: { 'Idempotency-Key': `codes-${keys++}`, ...options.headers },
    })
  const summary = ({ status, json }: HttpAnswer) => `${status} ${json?.error?.code ?? ''}`.trim()
  const records = (of: string) => deployment().run('audit', 'list', '--tenant', of)

  test('a code is created, replayed, read, updated, deleted, restored, shared and hard-deleted', async () => {
    const made = await post('/codes', code, { as: editor, headers: { 'Idempotency-Key': 'summer' } })
    expect([made.status, made.json.code, made.json.tenant_id]).toEqual([201, 'SUMMER-10', tenant])
    const replay = await post('/codes', code, { as: editor, headers: { 'Idempotency-Key': 'summer' } })
    expect([replay.status, replay.text, replay.headers.get('idempotency-status')]).toEqual([
      201,
      made.text,
      'replayed',
    ])
    expect(summary(await post('/codes', code, { as: editor }))).toBe('409 CONFLICT.code.exists')
    expect(summary(await post('/codes', code, { as: viewer }))).toBe('403 AUTHZ.role.denied')
    const path = `/codes/${made.json.id}`

    const read = await send(path, { as: viewer })
    expect([read.status, read.text]).toEqual([200, made.text])
    const change = (name: string, tag: string | null, as = editor) =>
      send(path, { method: 'PATCH', body: { name }, as, headers: tag ? { 'If-Match': tag } : {} })
    expect(summary(await change('New', null))).toBe('428 VALIDATION.if_match.required')
    expect(summary(await change('Renamed', read.headers.get('etag'), viewer))).toBe('403 AUTHZ.role.denied')
    expect(summary(await change('Renamed', read.headers.get('etag')))).toBe('200')
    expect(summary(await change('Renamed', read.headers.get('etag')))).toBe('412 CONFLICT.etag.mismatch')

    expect((await send(path, { method: 'DELETE', as: editor })).status).toBe(204)
    expect((await send('/codes', { as: viewer })).json.data).toEqual([])
    expect(summary(await send('/codes?include_deleted=true', { as: editor }))).toBe('403 AUTHZ.filter.denied')
    const seen = await send(`/codes?include_deleted=true&tenant=${tenant}`, { as: admin })
    expect(seen.json.data.map(({ state }: { state: string }) => state)).toEqual(['soft_deleted'])
    const tag = (await send(path, { as: editor })).headers.get('etag')
    expect(summary(await change('Dead', tag))).toBe('409 CONFLICT.soft_deleted')
    const restored = await post(`${path}:restore`, {}, { as: editor })
    expect([restored.status, restored.json.state]).toEqual([200, 'active'])
    expect((await post(`${path}:share`, { grantee_tenant: tenant }, { as: editor })).status).toBe(200)
    expect(summary(await post(`${path}:share`, { grantee_tenant: 'rival' }, { as: editor }))).toBe(
      '403 AUTHZ.scope.tenant',
    )
    expect(summary(await post(`${path}:frob`, {}, { as: editor }))).toBe('404 NOT_FOUND.route')

    const forever = (as: Send['as'], headers = {}) =>
      send(`${path}?force=true`, { method: 'DELETE', headers, ...(as && { as }) })
    const because = { 'X-Audit-Log-Reason': 'a test of the service' }
    expect(summary(await forever(editor, because))).toBe('403 AUTHZ.role.denied')
    expect(summary(await forever(admin))).toBe('400 VALIDATION.reason.required')
    expect((await forever(admin, because)).status).toBe(204)
    expect(summary(await send(path, { as: admin }))).toBe('404 NOT_FOUND.code')
    expect((await post('/codes', code, { as: editor })).status).toBe(201)

    const audit = await records(tenant)
    const actions = audit.map(({ action, result, reason }) => `${action} ${result} ${reason}`)
    for (const line of [
      'update allow allowed',
      'soft_delete allow allowed',
      'update deny CONFLICT.soft_deleted',
      'restore allow allowed',
      'share allow allowed',
      'share deny AUTHZ.scope.tenant',
      'hard_delete deny AUTHZ.role.denied',
      'hard_delete allow a test of the service',
    ]) {
      expect(actions).toContain(line)
    }
    // `after` names the grantee, which the caller sent.
    expect(JSON.stringify(audit.map(({ after: _, ...rest }) => rest))).not.toMatch(/rival/i)
    expect(JSON.stringify(audit)).not.toMatch(/Renamed|Summer|SUMMER/)
  })

  test('codes are imported, updated in bulk, listed, searched and exported', async () => {
    const lines = Array.from(
      { length: 120 },
      (_, n) => `bulk-${n},fixed-500,"=No ${n}, ""quoted""",${expiry_at}`,
    )
    const file = `code,type,name,expiry_at\r\n${lines.join('\r\n')}\r\nbad code,none,,tomorrow\r\n`
    const csv = { 'Content-Type': 'text/csv', 'Idempotency-Key': 'bulk' }
    const as = { ...editor, tenant: 'bulky' }
    const imported = await post('/codes:import', file, { as, headers: csv })
    expect([imported.status, imported.json.counts]).toEqual([207, { total: 121, succeeded: 120, failed: 1 }])
    expect(imported.json.items.at(-1)).toMatchObject({ row: 121, id: null, status: 400 })
    const again = await post('/codes:import', file, { as, headers: csv })
    expect([again.text, again.headers.get('idempotency-status')]).toEqual([imported.text, 'replayed'])
    const broken = new Uint8Array([...Buffer.from('code,type,name,expiry_at\n'), 0xff, 0xfe])
    const refused = await post('/codes:import', broken, { as, headers: { 'Content-Type': 'text/csv' } })
    expect(summary(refused)).toBe('400 VALIDATION.body.encoding')

    const byText = await send('/codes?sort=code.asc&page_size=3', { as })
    expect(byText.json.data.map((one: { code: string }) => one.code)).toEqual(['BULK-0', 'BULK-1', 'BULK-10'])
    const found = await send('/codes?q=no%207,', { as })
    expect(found.json.data.map((one: { code: string }) => one.code)).toEqual(['BULK-7'])
    const [one, two] = byText.json.data
    const etag = (await send(`/codes/${one.id}`, { as })).headers.get('etag')
    const bulk = await post(
      '/codes:bulkUpdate',
      {
        items: [
          { id: one.id, if_match: etag, name: 'Changed' },
          { id: two.id, if_match: '"stale"', name: 'Lost' },
        ],
      },
      { as },
    )
    expect([bulk.status, ...bulk.json.items.map((item: { status: number }) => item.status)]).toEqual([
      207, 200, 412,
    ])

    expect(summary(await send('/codes:export', { as: { ...as, role: 'Viewer' } }))).toBe(
      '403 AUTHZ.role.denied',
    )
    const offered = await send('/codes:export', { as })
    expect(offered.status).toBe(303)
    const download = await fetch(offered.headers.get('location') ?? '')
    expect(download.headers.get('content-disposition')).toMatch(/filename="codes_bulky_\d{8}\.csv"/)
    const text = await download.text()
    expect(text.split('\r\n')).toHaveLength(122)
    expect(text).toContain('"\'=No 119, ""quoted"""')
    const elsewhere = await post('/codes:import?tenant=other-bulky', text, {
      as: admin,
      headers: { 'Content-Type': 'text/csv' },
    })
    expect(elsewhere.json.counts).toEqual({ total: 120, succeeded: 120, failed: 0 })
    expect((await records('bulky')).map(({ action }) => action)).toEqual(
      expect.arrayContaining(['import', 'update', 'export']),
    )

    const inline = await send(`/codes:export?tenant=${tenant}`, { as: admin })
    expect([inline.status, inline.headers.get('content-type')]).toEqual([200, 'text/csv'])
    expect(inline.text).toMatch(/^id,code,type,name,expiry_at,state,soft_deleted,created_at,updated_at\r\n/)
  })
}
