import { expect, test } from '@jest/globals'
import type { Deployment, Send } from './deployment.ts'

const scope = 'codes:read codes:write'
const tenant = 'coded'
const editor = { tenant, role: 'Editor', sub: 'editor', scope }
const admin = { tenant: 'head', role: 'Admin', sub: 'admin', scope }
const expiry_at = '2099-01-01T00:00:00Z'
const code = { code: 'summer-10', type: 'percent-10', name: 'Summer 🌞', expiry_at }

/** Each operation on discount codes, with the permissions of its function. `test/codes` tests their rules. */
export function codesOverHttp(deployment: () => Deployment): void {
  const send = (path: string, options: Send = {}) => deployment().send(path, options)
  const post = (path: string, body: unknown, options: Send = {}) => {
    const headers = { 'Idempotency-Key': crypto.randomUUID(), ...options.headers }
    return send(path, { method: 'POST', as: editor, body, ...options, headers })
  }
  const actions = async (of: string) =>
    (await deployment().run('audit', 'list', '--tenant', of)).map(
      ({ action, result }) => `${action} ${result}`,
    )

  test('a code is created, read, updated, deleted, restored, shared and hard-deleted', async () => {
    const made = await post('/codes', code)
    expect([made.status, made.json.code, made.json.tenant_id]).toEqual([201, 'SUMMER-10', tenant])
    const path = `/codes/${made.json.id}`
    const read = await send(path, { as: editor })
    expect([read.status, read.text]).toEqual([200, made.text])
    const change = { body: { name: 'Renamed' }, headers: { 'If-Match': read.headers.get('etag') ?? '' } }
    expect((await send(path, { method: 'PATCH', as: editor, ...change })).status).toBe(200)
    expect((await send(path, { method: 'DELETE', as: editor })).status).toBe(204)
    expect((await send('/codes', { as: editor })).json.data).toEqual([])
    expect((await post(`${path}:restore`, {})).json.state).toBe('active')
    expect((await post(`${path}:share`, { grantee_tenant: tenant })).status).toBe(200)
    const forever = { method: 'DELETE', as: admin, headers: { 'X-Audit-Log-Reason': 'a test' } }
    expect((await send(`${path}?force=true`, forever)).status).toBe(204)
    expect((await send(path, { as: editor })).json.error.code).toBe('NOT_FOUND.code')
    expect((await actions(tenant)).toSorted()).toEqual([
      'codes.read deny',
      ...['hard_delete', 'restore', 'share', 'soft_delete', 'update'].map((action) => `${action} allow`),
    ])
  })

  test('codes are imported, updated in bulk, searched and exported', async () => {
    const lines = Array.from(
      { length: 120 },
      (_, n) => `bulk-${n},fixed-500,"=No ${n}, ""quoted""",${expiry_at}`,
    )
    const file = `code,type,name,expiry_at\r\n${lines.join('\r\n')}\r\nbad code,none,,tomorrow\r\n`
    const csv = { 'Content-Type': 'text/csv' }
    const as = { ...editor, tenant: 'bulky' }
    const imported = await post('/codes:import', file, { as, headers: csv })
    expect([imported.status, imported.json.counts]).toEqual([207, { total: 121, succeeded: 120, failed: 1 }])
    const broken = new Uint8Array([...Buffer.from('code,type,name,expiry_at\n'), 0xff, 0xfe])
    const refused = await post('/codes:import', broken, { as, headers: csv })
    expect(refused.json.error.code).toBe('VALIDATION.body.encoding')

    const found = await send('/codes?q=no%207,', { as })
    expect(found.json.data.map((one: { code: string }) => one.code)).toEqual(['BULK-7'])
    const items = [{ id: found.json.data[0].id, if_match: '*', name: 'Changed' }]
    const bulk = await post('/codes:bulkUpdate', { items }, { as })
    expect([bulk.status, bulk.json.items[0].status]).toEqual([207, 200])

    const offered = await send('/codes:export', { as })
    expect(offered.status).toBe(303)
    const download = await fetch(offered.headers.get('location') ?? '')
    expect(download.headers.get('content-disposition')).toMatch(/filename="codes_bulky_\d{8}\.csv"/)
    const text = await download.text()
    expect(text.split('\r\n')).toHaveLength(122)
    expect(text).toContain('"\'=No 119, ""quoted"""')
    expect(await actions('bulky')).toEqual(
      expect.arrayContaining(['import allow', 'update allow', 'export allow']),
    )

    const inline = await send(`/codes:export?tenant=${tenant}`, { as: admin })
    expect([inline.status, inline.headers.get('content-type')]).toEqual([200, 'text/csv'])
  })
}
