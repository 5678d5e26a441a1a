import { expect, test } from '@jest/globals'
import type { Settings } from '#shared/settings/register.ts'
import { codeCalls, validCode } from '#test/codes/code-calls.ts'
import { type Call, type Service, type ServiceOptions, startService } from '#test/support/service.ts'
import { type Identity, localSettings, otherSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

/**
 * A setting, or several; the steps that both deployments run; and their results: with the local settings, and with the
 * settings that differ from them everywhere.
 */
export type Row = [keys: string, steps: Steps<unknown>, local: unknown, other: unknown]
type Steps<T> = (tenant: Tenant, service: Service) => Promise<T>

/** The headers that either deployment requires. */
const always = { 'X-Nonce': 'n', 'X-Token-Nonce': 'n' }
const order = { cart_id: 'cart-1', amount_minor: 100, currency: 'EUR' }

/** The calls on codes, with the headers that either deployment requires. */
export const callsOf = (service: Service) => codeCalls(service, { headers: always })

export const who = (role: string, tenant: string, more: Identity = {}): Identity => ({
  tenant,
  role,
  sub: `${role}-1`,
  scope: 'codes:read codes:write orders:write',
  claims: { nonce: 'n', amr: ['otp'] },
  ...more,
})
export const newTenant = () => uniqueTenant('tenant')

/** Returns the body of a create that is valid in a deployment. */
export function codeIn({ settings }: Service, changes: Record<string, unknown> = {}) {
  const [type] = Object.keys(settings['codes.types'])
  return validCode({ type, name: 'Off', ...changes })
}

/** A call without its path. `role`, and what `as` adds, change the identity of an Editor. */
export interface Options extends Omit<Call, 'path' | 'method' | 'headers'> {
  role?: string
  /** A header of undefined is not sent. */
  headers?: Record<string, string | undefined>
}

export type Tenant = ReturnType<typeof tenantOf>

/** A new tenant of a deployment, its identities and their calls. */
export function tenantOf(service: Service, tenant = newTenant()) {
  const of = callsOf(service)
  const editor = who('Editor', tenant)
  const call = (method: string, path: string, { role = 'Editor', as, headers, ...rest }: Options = {}) => {
    const key = method === 'POST' && { 'Idempotency-Key': crypto.randomUUID() }
    const sent = Object.entries({ ...always, ...key, ...headers }).filter(([, value]) => value !== undefined)
    const identity = who(role, tenant, as)
    return service.call({ method, path, as: identity, headers: Object.fromEntries(sent) as never, ...rest })
  }
  return {
    ...of,
    tenant,
    editor,
    viewer: who('Viewer', tenant),
    admin: who('Admin', tenant),
    call,
    make: async (changes: Record<string, unknown> = {}) => {
      const answer = await of.create(editor, codeIn(service, changes))
      if (answer.status !== 201) throw new Error(answer.body)
      return answer.json as { id: string; code: string }
    },
    /** Places an order. */
    place: (changes: object = {}, options?: Options) =>
      call('POST', '/v1/orders', { body: { ...order, ...changes }, ...options }),
    orders: (query = '', options?: Options) =>
      call('GET', `/v1/orders${query}`, { role: 'Viewer', ...options }),
  }
}

/** Starts two deployments. The second has other values for every setting. */
export async function twoDeployments(
  optionsOf: (settings: Settings, index: number) => ServiceOptions = (settings) => ({ settings }),
) {
  const [local, other] = (await Promise.all(
    [localSettings, otherSettings].map((settings, index) => startService(optionsOf(settings, index))),
  )) as [Service, Service]
  /** Returns the results of the same steps in both deployments. */
  const both = async <T>(steps: Steps<T>): Promise<[T, T]> => [
    await steps(tenantOf(local), local),
    await steps(tenantOf(other), other),
  ]
  return {
    local,
    other,
    both,
    /** Expects each setting to change the behavior: both deployments respond differently to the same calls. */
    expectChanges(rows: Row[]): void {
      test.each(rows)('%s', async (_, steps, ...expected) => {
        expect(await both(steps)).toEqual(expected)
      })
    },
  }
}
