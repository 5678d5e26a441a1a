import { expect, test } from '@jest/globals'
import { lazy } from '#shared/platform/base/cached-load.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { SettingKey, Settings } from '#shared/settings/register.ts'
import { codeCalls, validCode } from '#test/codes/code-calls.ts'
import { order } from '#test/support/place-order.ts'
import { type Call, type Service, type ServiceOptions, startService } from '#test/support/service.ts'
import { type Identity, profile } from '#test/support/settings.ts'
import { newTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

/** A setting; its changed value, of an object the members that change; what a deployment is asked; its changed answer. */
export type Row<Asked = Tenant> = {
  [Key in SettingKey]: readonly [
    key: Key,
    value: Change<Settings[Key]>,
    ask: (asked: Asked) => unknown,
    answer: unknown,
  ]
}[SettingKey]

type Change<Value> = Value extends readonly unknown[] ? Value : Value extends object ? Partial<Value> : Value

const local = profile('shared/settings/profiles/local.json')

/** Returns whole values for changes of members of objects. */
export function withMembers(changes: Partial<Record<SettingKey, unknown>>): Partial<Settings> {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  const whole = Object.entries(changes).map(([key, value]) => {
    const former = local[key as SettingKey]
    return [
      key,
      isObject(value) && isObject(former) ? { ...(former as object), ...(value as object) } : value,
    ]
  })
  return Object.fromEntries(whole)
}

/** Returns the settings of some rows. */
export function valuesOf<Asked>(rows: readonly Row<Asked>[]): Partial<Settings> {
  return withMembers(Object.fromEntries(rows.map(([key, value]) => [key, value])))
}

export function settingsWith(changes: Partial<Settings>): Settings {
  return profile('shared/settings/profiles/local.json', changes)
}

/**
 * Tests that each row changes the answer of the local profile.
 * @param start starts what a row asks, with settings that differ
 */
export function testChanges<Asked>(
  rows: readonly Row<Asked>[],
  start: (changes: Partial<Settings>) => Asked | Promise<Asked>,
): void {
  test.each(rows)('%s', async (...row) => {
    const [, , ask, answer] = row
    expect(await ask(await start(valuesOf([row])))).toEqual(answer)
    expect(await ask(await start({}))).not.toEqual(answer)
  })
}

const sharedTable = lazy(newTable)

/** Starts a new tenant of a deployment. All deployments of a file share a table. */
export async function newTenantOf(
  changes: Partial<Settings>,
  { tenant = uniqueTenant(), ...options }: ServiceOptions & { tenant?: string } = {},
): Promise<Tenant> {
  return tenantOf(
    await startService({ settings: settingsWith(changes), tableName: await sharedTable(), ...options }),
    tenant,
  )
}

/** A call without its path. `role`, and what `as` adds, change the identity of an Editor; no header of undefined is sent. */
export interface Options extends Omit<Call, 'path' | 'method' | 'headers'> {
  role?: string
  headers?: Record<string, string | undefined>
}

export type Tenant = ReturnType<typeof tenantOf>

/** A tenant of a deployment, its identities and their calls. */
function tenantOf(service: Service, tenant: string) {
  const who = (role: string, more: Identity = {}): Identity => {
    return { tenant, role, sub: `${role}-1`, scope: 'codes:read codes:write', ...more }
  }
  const [viewer, editor, admin] = [who('Viewer'), who('Editor'), who('Admin')]
  const codes = codeCalls(service)
  const call = (method: string, path: string, { role = 'Editor', as, headers, ...rest }: Options = {}) => {
    const key = method === 'POST' && { 'Idempotency-Key': crypto.randomUUID() }
    const sent = Object.entries({ ...key, ...headers }).filter(([, value]) => value !== undefined)
    return service.call({
      method,
      path,
      as: who(role, as),
      headers: Object.fromEntries(sent) as never,
      ...rest,
    })
  }
  return {
    ...codes,
    ...{ service, settings: service.settings, tenant, viewer, editor, admin, call },
    /** Returns the same tenant under further settings, or at another time. */
    under: async (changes: Partial<Settings>, now = Date.now) =>
      tenantOf(
        await startService({
          settings: { ...service.settings, ...changes },
          tableName: service.tableName,
          clock: { ...systemClock, now },
        }),
        tenant,
      ),
    make: async (changes: Record<string, unknown> = {}) => {
      const answer = await codes.create(editor, validCode(changes))
      if (answer.status !== 201) throw new Error(answer.body)
      return answer.json as { id: string; code: string }
    },
    /** Places an order. */
    place: (changes: object = {}, options?: Options) =>
      call('POST', '/v1/orders', { body: { ...order, ...changes }, ...options }),
    orders: (query = '', options?: Options) =>
      call('GET', `/v1/orders${query}`, { role: 'Viewer', ...options }),
    health: (options?: Options) => call('GET', '/health', options),
  }
}

/** Makes calls one after the other. */
export async function each<Value, Found>(
  values: readonly Value[],
  call: (value: Value) => Promise<Found> | Found,
): Promise<Found[]> {
  const found: Found[] = []
  for (const value of values) found.push(await call(value))
  return found
}
