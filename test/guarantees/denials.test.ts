import { beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { isId } from '#shared/platform/base/clock.ts'
import { areaOf } from '#shared/platform/identity/authorize.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { validCall, withQuery } from '#test/support/examples.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

const bearer = routes.map(({ route }) => route).filter(({ auth }) => auth === 'bearer')
type Route = (typeof bearer)[number]

let service: Service
/** The same table in a deployment where each operation needs a second factor. */
let strict: Service
beforeAll(async () => {
  service = await startService({ settings: settingsWith({}) })
  const mfa = { operations: bearer.map(({ operation }) => operation), claim: ['amr'], value: 'mfa' }
  strict = await startService({
    settings: settingsWith({ 'auth.mfa': mfa, 'auth.sessionOperations': [] }),
    tableName: service.tableName,
  })
})

function settingsWith(changes: object) {
  const path = 'shared/settings/profiles/local.json'
  return profile(path, { 'imports.inProgressPerTenant': 1000, ...changes })
}

interface Denied {
  role: string
  scope?: string
  /** Names the owner's tenant in the request. */
  addressed?: true
  /** Asks the deployment that needs a second factor. */
  strict?: true
  /** Sends a field that nobody may write. */
  field?: true
}

const everyScope = 'codes:read codes:write'
const denials: [string, Denied][] = [
  ['a role without permissions', { role: 'Owner', scope: everyScope }],
  ['a Viewer', { role: 'Viewer', scope: everyScope }],
  ['an Editor', { role: 'Editor', scope: everyScope }],
  ['an Editor who names the tenant', { role: 'Editor', scope: everyScope, addressed: true }],
  ['an Editor without scopes', { role: 'Editor' }],
  ['an Editor who writes a field that nobody may write', { role: 'Editor', scope: everyScope, field: true }],
  ['an Editor without a second factor', { role: 'Editor', scope: everyScope, strict: true }],
  ['an Admin without scopes', { role: 'Admin' }],
  ['an Admin without scopes who names the tenant', { role: 'Admin', addressed: true }],
  ['an Admin without a second factor', { role: 'Admin', scope: everyScope, strict: true }],
]

/** Sends a valid call on the data of one tenant, as a caller of another, or of the same. */
async function attempt(route: Route, owner: string, actor: string, denied: Denied) {
  const { body, ...call } = await validCall(route, service, owner)
  // The caller of a share names the grantee, which is audited.
  const text = body === undefined ? '' : JSON.stringify(body).replaceAll(owner, actor)
  const sent = text === '' ? undefined : JSON.parse(text)
  const [item] = sent?.items ?? [sent]
  if (denied.field && typeof item === 'object') item.created_by = 'me'
  const target = denied.strict ? strict : service
  const answer = await target.call({
    ...call,
    path: denied.addressed ? withQuery(call.path, { tenant: owner }) : call.path,
    as: { tenant: actor, role: denied.role, scope: denied.scope ?? '' },
    ...(sent !== undefined && { body: sent }),
  })
  const records = (await service.items(actor, 'audit')).filter(({ result }) => result === 'deny')
  return { answer, records, ids: idsIn(call.path + text) }
}

function idsIn(text: string): string[] {
  return (text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []).filter(isId)
}

describe.each(bearer.map((route) => [route.operation, route] as const))('%s', (operation, route) => {
  const tenantOf = (side: string, caller: string) =>
    `${side}-${operation}-${denials.findIndex(([name]) => name === caller)}`.replace('.', '-')

  test.each(denials)('denied to %s stores nothing of another tenant in the audit', async (caller, denied) => {
    const [owner, actor] = [tenantOf('owner', caller), tenantOf('actor', caller)]
    const { answer, records, ids } = await attempt(route, owner, actor, denied)
    const isDenied = /"code":"(AUTHZ|POLICY|NOT_FOUND)\./.test(answer.body ?? '')
    expect(records).toHaveLength(isDenied ? 1 : 0)
    expect([...ids, owner].filter((one) => JSON.stringify(records).includes(one))).toEqual([])
  })

  test('denied in the own tenant names the item', async () => {
    const own = tenantOf('own', '')
    const { records, ids } = await attempt(route, own, own, { role: 'Owner', scope: everyScope })
    const area = areaOf(route)
    const isNamed = pathOf(route, service.settings).includes('{')
    expect(records).toMatchObject([{ target: isNamed ? `${area.replace(/s$/, '')}/${ids[0]}` : area }])
  })
})
