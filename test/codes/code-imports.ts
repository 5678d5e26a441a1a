import { type Answer, type Call, startService } from '#test/support/service.ts'
import { type Identity, longTimeoutSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

/** The service of a test file. */
export const service = await startService({ settings: longTimeoutSettings })

export const header = 'code,type,name,expiry_at'
export const expiry = '2099-01-01T00:00:00Z'
export const good = (code: string, name = 'Ten off') => `${code},percent-10,${name},${expiry}`
export const fileOf = (...rows: string[]) => [header, ...rows, ''].join('\r\n')
export const newTenant = () => uniqueTenant('importer')
export const editor = (tenant: string, sub = 'u1'): Identity => ({
  tenant,
  role: 'Editor',
  sub,
  scope: 'codes:read codes:write',
})

/** Calls POST /codes:import as an Editor, with the key `key` unless the call has another. */
export function send(tenant: string, body: string | Uint8Array, call: Partial<Call> = {}, to = service) {
  const headers = { 'Content-Type': 'text/csv', 'Idempotency-Key': 'key', ...call.headers }
  return to.call({ method: 'POST', path: '/codes:import', as: editor(tenant), body, ...call, headers })
}

/** Returns the status of each row. */
export function statusesOf({ json }: Answer): number[] {
  return json.items.map(({ status }: { status: number }) => status)
}

/** Returns the names of a tenant's codes that are not deleted, by code. */
export async function namesOf(tenant: string): Promise<Record<string, unknown>> {
  const live = (await service.items(tenant, 'code')).filter(({ soft_deleted }) => !soft_deleted)
  return Object.fromEntries(live.map(({ code, name }) => [String(code), name]).sort())
}
