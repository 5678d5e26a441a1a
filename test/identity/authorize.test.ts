import { describe, expect, test } from '@jest/globals'
import { newId } from '#shared/platform/base/clock.ts'
import { Denial, type Failure } from '#shared/platform/base/failure.ts'
import {
  type Access,
  apiKeyScopes,
  areaOf,
  authorize,
  locate,
  mayShareWith,
  permissions,
  tenantReachOf,
  tokenScopes,
} from '#shared/platform/identity/authorize.ts'
import type { Caller } from '#shared/platform/identity/caller.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

const free: Partial<Settings> = {
  'auth.scopes': {},
  'auth.operationScopes': {},
  'auth.mfa': { operations: [], claim: ['amr'], value: 'mfa' },
  'auth.apiKeyPermissions': 'nothing',
  'auth.crossTenantStatus': 404,
}
const settingsOf = (changes: Partial<Settings> = {}): Settings => ({ ...localSettings, ...free, ...changes })
const callerOf = (changes: Partial<Caller> = {}): Caller => ({
  sub: 'u1',
  tenant: 'acme',
  role: 'Editor',
  scopes: new Set(),
  claims: {},
  ...changes,
})
const route = { operation: 'orders.create', access: 'create' as Access }

describe('the permissions of a role', () => {
  test.each<[Access, string]>([
    ['create', 'deny own any own'],
    ['read', 'own own any own'],
    ['list', 'own own any own'],
    ['update', 'deny own any own'],
    ['soft_delete', 'deny own any own'],
    ['restore', 'deny own any own'],
    ['hard_delete', 'deny deny any deny'],
    ['transfer', 'deny own any own'],
    ['share', 'deny own any own'],
  ])('to %s are, for Viewer, Editor, Admin and Service: %s', (access, expected) => {
    const roles = ['Viewer', 'Editor', 'Admin', 'Service'] as const
    expect(roles.map((role) => tenantReachOf(role, access, 'Editor')).join(' ')).toBe(expected)
  })

  test('cover every kind of access above', () => {
    expect(Object.keys(permissions)).toHaveLength(9)
  })

  test('of Service are those of the role in the settings', () => {
    expect(tenantReachOf('Service', 'create', 'Viewer')).toBe('deny')
  })

  test('are none without a role', () => {
    expect(tenantReachOf(undefined, 'read', 'Editor')).toBe('deny')
  })
})

describe('a caller', () => {
  test('without the permission is denied by its role', () => {
    const denied = thrownBy(() => authorize(callerOf({ role: 'Viewer' }), route, undefined, settingsOf()))
    const details = { required_roles: ['Editor', 'Admin', 'Service'] }
    expect(denied).toMatchObject({ code: 'AUTHZ.role.denied', http: 403, details })
  })

  test.each([undefined, 'acme'])('may act in its own tenant (addressed: %s)', (addressed) => {
    expect(authorize(callerOf(), route, addressed, settingsOf())).toEqual({
      tenant: 'acme',
      allTenants: false,
    })
  })

  test.each([403, 404] as const)('that addresses another tenant is denied with %d', (status) => {
    const settings = settingsOf({ 'auth.crossTenantStatus': status })
    const denied = thrownBy(() => authorize(callerOf(), route, 'other', settings))
    expect(denied).toBeInstanceOf(Denial)
    expect(denied).toMatchObject({
      failure: { code: 'AUTHZ.scope.tenant', http: status },
      reason: 'AUTHZ.scope.tenant',
      target: 'orders',
    })
  })

  test('that is an Admin may act in all tenants', () => {
    const admin = callerOf({ role: 'Admin' })
    expect(authorize(admin, route, undefined, settingsOf())).toEqual({ tenant: 'acme', allTenants: true })
  })

  test('that is an Admin may act in the tenant that it addresses', () => {
    const admin = callerOf({ role: 'Admin' })
    expect(authorize(admin, route, 'other', settingsOf())).toEqual({ tenant: 'other', allTenants: false })
  })
})

describe('an Admin of an issuer that is bound to tenants', () => {
  const admin = callerOf({ role: 'Admin', tenants: ['acme', 'acme-eu'] })

  test('acts in its own tenant unless it addresses another one of them', () => {
    expect(authorize(admin, route, undefined, settingsOf())).toEqual({ tenant: 'acme', allTenants: false })
    expect(authorize(admin, route, 'acme-eu', settingsOf())).toEqual({
      tenant: 'acme-eu',
      allTenants: false,
    })
  })

  test('is denied in any other', () => {
    const denied = thrownBy(() => authorize(admin, route, 'globex', settingsOf()))
    expect(denied).toMatchObject({ reason: 'AUTHZ.scope.tenant' })
  })

  test('shares with these tenants only', () => {
    const sharing = ['acme', 'acme-eu', 'globex'].filter((one) => mayShareWith(admin, one, settingsOf()))
    expect(sharing).toEqual(['acme', 'acme-eu'])
  })
})

describe('the area of an operation', () => {
  test('is the first part of its name', () => {
    expect(areaOf({ operation: 'orders.create' })).toBe('orders')
  })
})

describe('a token', () => {
  const scoped = settingsOf({ 'auth.scopes': { 'orders.create': 'orders:write' } })
  const check = (scopes: string[], settings = scoped, scope = {}) =>
    authorize(callerOf({ scopes: new Set(scopes) }), { ...route, ...scope }, undefined, settings)

  test('needs no scope if the settings name none', () => {
    expect(tokenScopes(route, settingsOf())).toEqual([])
    expect(check([], settingsOf())).toBeDefined()
  })

  test('needs the scope of its operation', () => {
    expect(check(['orders:write'])).toBeDefined()
    expect(thrownBy(() => check(['orders:read']))).toMatchObject({
      code: 'AUTHZ.scope.token',
      details: { required_scopes: ['orders:write'] },
      headers: {
        'WWW-Authenticate': 'Bearer realm="commerce-api", error="insufficient_scope", scope="orders:write"',
      },
    })
  })

  test('needs the scope of the route instead, if it names one', () => {
    expect(check(['fixed'], scoped, { scope: 'fixed' })).toBeDefined()
    expect(thrownBy(() => check(['orders:write'], scoped, { scope: 'fixed' }))).toBeDefined()
  })
})

describe('a denial', () => {
  const claimPaths = { roles: ['realm', 'roles'], scopes: ['scp'] }
  const inRoles = { required_roles: ['Editor', 'Admin', 'Service'] }
  const inScopes = { required_scopes: ['orders:write'] }
  const settings = settingsOf({
    'auth.scopes': { 'orders.create': 'orders:write' },
    'auth.mfa': { operations: ['orders.create'], claim: ['amr'], value: 'mfa' },
  })
  const scopes = new Set(['orders:write'])

  test.each<[string, Partial<Caller>, string, object]>([
    [
      'names the claim of the role if the token gives none',
      { role: undefined, claimPaths },
      'AUTHZ.role.denied',
      { ...inRoles, claim: ['realm', 'roles'] },
    ],
    ['names no claim of a role that is known', { role: 'Viewer', claimPaths }, 'AUTHZ.role.denied', inRoles],
    ['names no claim of a role without a token', { role: undefined }, 'AUTHZ.role.denied', inRoles],
    ['names the claim of a scope', { claimPaths }, 'AUTHZ.scope.token', { ...inScopes, claim: ['scp'] }],
    ['names no claim of a scope without a token', {}, 'AUTHZ.scope.token', inScopes],
    ['names the claim of a second factor', { scopes, claimPaths }, 'POLICY.mfa.required', { claim: ['amr'] }],
    ['names no claim of a second factor without a token', { scopes }, 'POLICY.mfa.required', {}],
  ])('%s', (_, caller, code, expected) => {
    const denied = thrownBy(() => authorize(callerOf(caller), route, undefined, settings)) as Failure
    const { www_authenticate: _challenge, ...details } = denied.details ?? {}
    expect([denied.code, details]).toEqual([code, expected])
  })
})

describe('an API key', () => {
  const settings = settingsOf({
    'auth.scopes': { 'orders.create': 'orders:write' },
    'auth.operationScopes': { 'orders.create': 'orders.create' },
  })
  const check = (scopes: string[], changes: Partial<Settings> = {}, operation = 'orders.create') =>
    authorize(
      callerOf({ role: 'Service', apiKey: 'k1', scopes: new Set(scopes) }),
      { ...route, operation },
      undefined,
      { ...settings, ...changes },
    )

  test('needs the scope of its operation and that of a token', () => {
    expect(apiKeyScopes(route, settings)).toEqual(['orders.create', 'orders:write'])
    expect(check(['orders.create', 'orders:write'])).toBeDefined()
  })

  test('needs one scope if both are the same', () => {
    const same = { 'auth.scopes': { 'orders.create': 'orders.create' } }
    expect(apiKeyScopes(route, { ...settings, ...same })).toEqual(['orders.create'])
  })

  test('lacks a scope if it has only one of them', () => {
    expect(thrownBy(() => check(['orders.create']))).toMatchObject({
      code: 'AUTHZ.scope.token',
      details: { required_scopes: ['orders.create', 'orders:write'] },
      headers: { 'WWW-Authenticate': expect.stringMatching(/^ApiKey .*scope="orders.create orders:write"$/) },
    })
  })

  test('may not use an operation without a scope for keys', () => {
    expect(thrownBy(() => check(['orders.create'], {}, 'orders.list'))).toMatchObject({
      headers: { 'WWW-Authenticate': expect.stringMatching(/^ApiKey (?!.*scope=).*send a bearer token/) },
    })
  })

  test('may not use an operation that is named like a member of every object', () => {
    expect(apiKeyScopes({ operation: 'constructor' }, settings)).toBeUndefined()
  })

  test('without scopes has no permissions, or those of its role', () => {
    const byRole = { 'auth.apiKeyPermissions': 'role', 'auth.scopes': {} } as const
    expect(thrownBy(() => check([], { 'auth.scopes': {} }))).toMatchObject({ code: 'AUTHZ.scope.token' })
    expect(check([], byRole)).toBeDefined()
  })

  test('with scopes has only these, whatever its role', () => {
    const byRole = { 'auth.apiKeyPermissions': 'role', 'auth.scopes': {} } as const
    expect(thrownBy(() => check(['another'], byRole))).toMatchObject({ code: 'AUTHZ.scope.token' })
  })
})

describe('a second factor', () => {
  const settings = settingsOf({ 'auth.mfa': { operations: ['orders.create'], claim: ['amr'], value: 'mfa' } })
  const check = (amr: unknown, operation = 'orders.create') =>
    thrownBy(() => authorize(callerOf({ claims: { amr } }), { ...route, operation }, undefined, settings))

  test.each([['mfa'], [['pwd', 'mfa']]])('is proven by %j', (claim) => {
    expect(check(claim)).toBeUndefined()
  })

  test.each([[undefined], ['pwd'], [['pwd']], ['xmfax'], [{ includes: 1 }]])(
    'is not proven by %j',
    (claim) => {
      expect(check(claim)).toMatchObject({
        code: 'POLICY.mfa.required',
        headers: {
          'WWW-Authenticate':
            'Bearer realm="commerce-api", error="insufficient_user_authentication", acr_values="mfa"',
        },
      })
    },
  )

  test('of an API key does not exist, which its challenge says', () => {
    const byRole = { ...settings, 'auth.apiKeyPermissions': 'role' } as const
    const key = callerOf({ role: 'Service', apiKey: 'key-1', scopes: new Set() })
    const operation = { ...route, operation: 'orders.create' }
    const denied = thrownBy(() => authorize(key, operation, undefined, byRole))
    const challenge = expect.stringMatching(/^ApiKey (?!.*acr_values).*send a bearer token/)
    expect(denied).toMatchObject({ code: 'POLICY.mfa.required', headers: { 'WWW-Authenticate': challenge } })
  })

  test('is not required by other operations', () => {
    expect(check(undefined, 'orders.list')).toBeUndefined()
  })
})

describe('an item that is read by id', () => {
  const own = { tenant: 'acme', allTenants: false }
  const all = { tenant: 'acme', allTenants: true }
  const runtime = memoryRuntime()
  const isBlocked = async (tenant: string) => tenant === 'blocked'
  const idOf = async (tenant: string) => {
    const id = newId(runtime.clock)
    const item = { ...keyOf(tenant, 'order', id), id }
    await runtime.table.put({ item, condition: 'none' })
    return { id, item }
  }
  const read = (id: string, scope = own, crossTenantStatus: 403 | 404 = 404) => {
    const settings = settingsOf({ 'auth.crossTenantStatus': crossTenantStatus })
    return locate({ table: runtime.table, scope, settings, isBlocked }, 'order', id, 'NOT_FOUND.order')
  }
  const denial = (promise: Promise<unknown>) =>
    promise.then(String, (thrown: Denial & { failure: Failure }) => ({
      code: thrown.failure.code,
      reason: thrown.reason,
      target: thrown.target,
      http: thrown.failure.http,
    }))
  const absent = { code: 'NOT_FOUND.order', reason: 'NOT_FOUND.order', target: 'order', http: 404 }

  test('in the own tenant is returned', async () => {
    const { id, item } = await idOf('acme')
    expect(await read(id)).toEqual(item)
  })

  test('that does not exist is absent', async () => {
    expect(await denial(read(newId(runtime.clock)))).toEqual(absent)
  })

  test('by an id that cannot exist is absent, without a call of the table', async () => {
    let calls = 0
    runtime.beforeCall = () => {
      calls += 1
    }
    expect(await denial(read('nonsense'))).toEqual(absent)
    runtime.beforeCall = () => {}
    expect(calls).toBe(0)
  })

  const reason = 'AUTHZ.scope.tenant'
  test.each([
    ['of another tenant looks absent, and is audited as cross-tenant access', 'other', 404, absent],
    ['of another tenant is forbidden if the settings say so', 'other', 403, { code: reason, http: 403 }],
    ['of a blocked tenant looks like that of any other tenant', 'blocked', 404, absent],
  ] as const)('%s to callers of one', async (_, tenant, status, denied) => {
    const { id } = await idOf(tenant)
    expect(await denial(read(id, own, status))).toEqual({ target: 'order', ...denied, reason })
  })

  test('of another tenant is returned to a caller of all tenants', async () => {
    const { id, item } = await idOf('other')
    expect(await read(id, all)).toEqual(item)
  })

  test('of a blocked tenant is refused to a caller of all tenants', async () => {
    const { id } = await idOf('blocked')
    await expect(read(id, all)).rejects.toMatchObject({ code: 'POLICY.account.locked' })
  })

  test('that the index finds and the table no longer has is absent', async () => {
    const { id, item } = await idOf('other')
    runtime.afterCall = async ({ name }) => {
      if (name !== 'find-by-id') return
      runtime.afterCall = () => {}
      await runtime.table.transact([{ remove: { pk: item.pk, sk: item.sk }, condition: 'none' }])
    }
    expect(await denial(read(id, all))).toEqual(absent)
  })

  test('of the own tenant that only the index still has is absent', async () => {
    const { id } = await idOf('acme')
    const emptied = { ...runtime.table, get: async () => undefined }
    const context = { table: emptied, scope: own, settings: settingsOf(), isBlocked }
    const found = locate(context, 'order', id, 'NOT_FOUND.order')
    expect(await denial(found)).toEqual(absent)
  })
})
