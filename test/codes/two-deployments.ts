import { type Service, startService } from '#test/support/service.ts'
import { otherSettings } from '#test/support/settings.ts'
import { codeCalls, validCode } from './code-calls.ts'

/** Two deployments with the same callers. The second has other values for every setting. */
export const local = await startService()
export const other = await startService({ settings: otherSettings })

const always = { headers: { 'X-Nonce': 'n', 'X-Token-Nonce': 'n' } }
const calls = new Map([local, other].map((service) => [service, callsOf(service)]))

/** The calls of a service, with the headers that either deployment requires. */
export function callsOf(service: Service) {
  return codeCalls(service, always)
}

export const who = (role: string, tenant: string) => ({
  tenant,
  role,
  sub: `${role}-1`,
  scope: 'codes:read codes:write',
  claims: { nonce: 'n', amr: ['otp'] },
})

let tenants = 0
export const newTenant = () => `tenant-${tenants++}`

/** Returns the body of a create that is valid in a deployment. */
export function codeIn({ settings }: Service, changes: Record<string, unknown> = {}) {
  const [type] = Object.keys(settings['codes.types'])
  return validCode({ type, name: 'Off', ...changes })
}

export type Tenant = ReturnType<typeof tenantOf>

/** A new tenant of a deployment, its identities and their calls. */
export function tenantOf(service: Service) {
  const tenant = newTenant()
  const of = calls.get(service) ?? callsOf(service)
  const editor = who('Editor', tenant)
  return {
    ...of,
    tenant,
    editor,
    viewer: who('Viewer', tenant),
    admin: who('Admin', tenant),
    make: async (changes: Record<string, unknown> = {}) => {
      const answer = await of.create(editor, codeIn(service, changes))
      if (answer.status !== 201) throw new Error(answer.body)
      return answer.json as { id: string; code: string }
    },
  }
}

/** Returns the results of the same steps in both deployments. */
export async function both<T>(steps: (tenant: Tenant, service: Service) => Promise<T>): Promise<[T, T]> {
  return [await steps(tenantOf(local), local), await steps(tenantOf(other), other)]
}
