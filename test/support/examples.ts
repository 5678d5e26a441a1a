import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as createRefund } from '#functions/refunds/create-refund/route.ts'
import { bodyTypesOf, type Route, pathOf as templateOf } from '#shared/platform/request/route.ts'
import { password } from './identity-provider/cognito-users.ts'
import { newEmail, requestedCode } from './one-time-codes.ts'
import type { Call, Service } from './service.ts'
import { eventOf, signed } from './signed-events.ts'
import { signedByStripe, stripeEventOf } from './stripe-events.ts'

/** The parts of a valid call of an operation that its route does not define. */
interface Valid {
  /** The path variables. */
  params?: Record<string, string>
  query?: Record<string, string>
  headers?: Record<string, string>
  /** By default the example of the route. */
  body?: unknown
}

/**
 * Creates the data for a call of an operation in a tenant and returns the parts that its route does not define. Only
 * operations on data that exists, or with a body that is different each time, need an entry.
 */
type Example = (service: Service, tenant: string) => Valid | Promise<Valid>

let codes = 0
const code = () => ({
  code: `CODE-${codes++}`,
  type: 'percent-10',
  name: 'Ten off',
  expiry_at: '2099-01-01T00:00:00Z',
})
const maker = { role: 'Admin', sub: 'maker', scope: 'codes:read codes:write' }

async function made(service: Service, tenant: string, path: string, body: unknown) {
  const headers = { 'Idempotency-Key': crypto.randomUUID() }
  return service.call({ method: 'POST', path, as: { ...maker, tenant }, headers, body })
}

/** Creates a code and optionally changes it. */
const madeCode = async (service: Service, tenant: string) => {
  const { json, headers } = await made(service, tenant, '/codes', code())
  return { params: { id: json.id as string }, etag: headers.ETag ?? '' }
}

/** Creates an import that has not started. */
const madeOperation = async (service: Service, tenant: string) => {
  const headers = { 'Content-Type': 'text/csv' }
  const body = `email\r\n${crypto.randomUUID()}@example.com\r\n`
  const as = { ...maker, tenant }
  const { json } = await service.call({ method: 'POST', path: '/imports', as, headers, body })
  return { params: { operation_id: json.operation_id as string } }
}

const examples: Record<string, Example> = {
  'orders.read': async (service, tenant) => {
    const { json } = await made(service, tenant, '/v1/orders', bodyOf(createOrder, service))
    return { params: { id: json.id } }
  },
  'login.sign-in': (_, tenant) => ({ body: { email: `user-${codes++}@${tenant}.example`, password } }),
  'login.reset-password': (_, tenant) => ({ body: { email: `user-${codes++}@${tenant}.example` } }),
  'refunds.read': async (service, tenant) => {
    const { json } = await made(service, tenant, '/v1/refunds', bodyOf(createRefund, service))
    return { params: { id: json.id } }
  },
  'refunds.create': () => ({ body: { charge_id: `ch_${crypto.randomUUID()}`, amount: 500 } }),
  'webhooks.receive': () => {
    const body = JSON.stringify(eventOf('cart.emptied', { id: 'cart-1' }))
    return { body, headers: signed(body) }
  },
  'webhooks.receive-stripe': () => {
    const body = JSON.stringify(stripeEventOf('customer.created', { id: 'cus_1' }))
    return { body, headers: signedByStripe(body) }
  },
  'discount.verify': async (service, tenant) => {
    const { code: text } = (await made(service, tenant, '/codes', code())).json
    return { body: { code: text } }
  },
  'otp.request': () => ({ body: { email: newEmail() } }),
  'otp.verify': async (service) => {
    const email = newEmail()
    return { body: { email, code: await requestedCode(service, email) } }
  },
  'codes.create': () => ({ body: code() }),
  'codes.read': madeCode,
  'codes.update': async (service, tenant) => {
    const { params, etag } = await madeCode(service, tenant)
    return { params, headers: { 'If-Match': etag } }
  },
  'codes.replace': async (service, tenant) => {
    const { params, etag } = await madeCode(service, tenant)
    return { params, headers: { 'If-Match': etag } }
  },
  'codes.soft-delete': madeCode,
  'codes.hard-delete': async (service, tenant) => ({
    ...(await madeCode(service, tenant)),
    query: { force: 'true' },
    headers: { 'X-Audit-Log-Reason': 'made by mistake' },
  }),
  'codes.restore': async (service, tenant) => {
    const { params } = await madeCode(service, tenant)
    await service.call({ method: 'DELETE', path: `/codes/${params.id}`, as: { ...maker, tenant } })
    return { params }
  },
  'codes.share': async (service, tenant) => ({
    ...(await madeCode(service, tenant)),
    body: { grantee_tenant: tenant },
  }),
  'codes.import': () => {
    const { code: text, type, name, expiry_at } = code()
    return { body: `code,type,name,expiry_at\r\n${text},${type},${name},${expiry_at}\r\n` }
  },
  'imports.create': () => ({ body: `email\r\n${crypto.randomUUID()}@example.com\r\n` }),
  'operations.read': madeOperation,
  'operations.cancel': madeOperation,
  'codes.bulk-update': async (service, tenant) => {
    const { params, etag } = await madeCode(service, tenant)
    return { body: { items: [{ id: params.id, if_match: etag, name: 'Another name' }] } }
  },
}

function bodyOf(route: Route, { settings }: Service): unknown {
  const [type = 'application/json'] = bodyTypesOf(route, settings)
  return route.example?.(settings, type)
}

/** Returns a valid call of a route in a tenant: its path with the query, headers and body. */
export async function exampleOf(route: Route, service: Service, tenant: string) {
  const valid = await examples[route.operation]?.(service, tenant)
  const { params = {}, query = {}, headers = {}, body = bodyOf(route, service) } = valid ?? {}
  const path = templateOf(route, service.settings).replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? missing(route, name)),
  )
  const [bodyType = ''] = bodyTypesOf(route, service.settings)
  const type: Record<string, string> = bodyType === 'application/json' ? {} : { 'Content-Type': bodyType }
  return { path: withQuery(path, query), headers: { ...type, ...headers }, body }
}

/** Returns that call as the service takes it, with a new key where the route takes one, and without credentials. */
export async function validCall(route: Route, service: Service, tenant: string): Promise<Call> {
  const { path, headers, body } = await exampleOf(route, service, tenant)
  const key = route.idempotency === 'none' ? {} : { 'Idempotency-Key': crypto.randomUUID() }
  return { method: route.method, path, headers: { ...headers, ...key }, ...(body !== undefined && { body }) }
}

function missing({ operation }: Route, name: string): never {
  throw new Error(
    `add an entry for ${operation} that returns the path variable ${name} to test/support/examples.ts`,
  )
}

/** Returns a path with additional query parameters. */
export function withQuery(path: string, query: Record<string, string>): string {
  const more = new URLSearchParams(query).toString()
  return more === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${more}`
}
