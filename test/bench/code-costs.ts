import type { Meter } from './meter.ts'

const editor = { tenant: 'acme', role: 'Editor', scope: 'codes:read codes:write' }
const admin = { ...editor, role: 'Admin' }
const code = {
  code: 'SUMMER-2099',
  type: 'percent-10',
  name: 'Ten percent off',
  expiry_at: '2099-01-01T00:00:00Z',
}

/** Measures each request on discount codes. */
export async function codeCosts({ measure }: Meter): Promise<void> {
  const create = {
    method: 'POST',
    path: '/codes',
    as: editor,
    headers: { 'Idempotency-Key': 'code' },
    body: code,
  }
  const { json, headers } = await measure('create a code', create)
  await measure('replay a code', create)
  const path = `/codes/${json.id}`
  await measure('read a code', { path, as: editor })
  const change = { method: 'PATCH', path, as: editor, body: { name: 'Still ten percent off' } }
  await measure('change a code', { ...change, headers: { 'If-Match': headers.ETag ?? '' } })
  await measure('change a code by a stale tag', {
    ...change,
    headers: { 'If-Match': headers.ETag ?? '' },
  })
  await measure('share a code', {
    method: 'POST',
    path: `${path}:share`,
    as: editor,
    headers: { 'Idempotency-Key': 'share' },
    body: { grantee_tenant: 'acme' },
  })
  await measure('delete a code softly', { method: 'DELETE', path, as: editor })
  await measure('delete a code softly again', { method: 'DELETE', path, as: editor })
  await measure('restore a code', {
    method: 'POST',
    path: `${path}:restore`,
    as: editor,
    headers: { 'Idempotency-Key': 'restore' },
  })
  await measure('list codes', { path: '/codes', as: editor })
  await measure('list codes by their text', { path: '/codes?sort=code.asc', as: editor })
  await measure('find a code by its text', { path: `/codes?code=${code.code}`, as: editor })
  await measure('export codes', { path: '/codes:export', as: editor })
  await measure('import one code', {
    method: 'POST',
    path: '/codes:import',
    as: editor,
    headers: { 'Idempotency-Key': 'import', 'Content-Type': 'text/csv' },
    body: `code,type,name,expiry_at\r\nWINTER,percent-10,Winter,${code.expiry_at}\r\n`,
  })
  const hardDelete = { method: 'DELETE', path: `${path}?force=true`, as: admin }
  await measure('delete a code for good', {
    ...hardDelete,
    headers: { 'X-Audit-Log-Reason': 'the bench is over' },
  })
}
