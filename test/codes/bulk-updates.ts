import { makeCode } from '#shared/codes/code.ts'
import { codeEtag, newCode } from '#shared/codes/code-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { type Answer, type Call, startService } from '#test/support/service.ts'
import { type Identity, localSettings, longTimeoutSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

interface Row {
  row: number
  id: string | null
  status: number
  error?: { code: string; details: object }
}

/** The service of a test file. */
export const service = await startService({ settings: longTimeoutSettings })
let codes = 0
export const newTenant = () => uniqueTenant('updater')

const as =
  (role: string) =>
  (tenant: string): Identity => ({ tenant, role, scope: 'codes:read codes:write' })
export const editor = as('Editor')
export const admin = as('Admin')

/** Calls POST /codes:bulkUpdate as an Editor, with a new key unless the call has one. */
export function send(tenant: string, items: unknown, call: Partial<Call> = {}, to = service) {
  const headers = { 'Idempotency-Key': crypto.randomUUID(), ...call.headers }
  return to.call({
    method: 'POST',
    path: '/codes:bulkUpdate',
    as: editor(tenant),
    body: { items },
    ...call,
    headers,
  })
}

/** Stores codes of a tenant. Returns their ids and tags as items of a bulk update. */
export async function createMany(tenant: string, count: number): Promise<{ id: string; if_match: string }[]> {
  const fields = { type: 'percent-10', name: 'Before', expiry_at: '2099-01-01T00:00:00.000Z' }
  const made = Array.from({ length: count }, () =>
    makeCode(
      { code: `BULK-${codes++}`, ...fields },
      { id: newId(systemClock), tenant, createdBy: 'u1' },
      localSettings,
    ),
  )
  for (let from = 0; from < count; from += 50) {
    const writes = made.slice(from, from + 50).flatMap(newCode)
    await service.table.transact(writes.map(({ onFailure: _, ...change }) => change))
  }
  return made.map((code) => ({ id: code.id, if_match: codeEtag(code, localSettings) }))
}

export async function create(tenant: string): Promise<{ id: string; if_match: string }> {
  const [made] = await createMany(tenant, 1)
  if (!made) throw new Error('no code was stored')
  return made
}

/** Returns the result of each item: its status, with the error code if it failed. */
export function results({ json }: Answer): (number | [number, string])[] {
  const items: Row[] = json.items
  return items.map(({ status, error }) => (error ? [status, error.code] : status))
}

/** Returns the audit records of updates in a tenant. */
export async function audited(tenant: string): Promise<Item[]> {
  return (await service.items(tenant, 'audit')).filter(({ action }) => action === 'update')
}
