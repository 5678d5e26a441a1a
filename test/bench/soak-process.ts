/**
 * Functions as they are deployed, in one process: answers mixed requests and reports how its heap grew. Bundled and
 * started by soak.campaign.test.ts with --expose-gc.
 */
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import { handler as createCode } from '#functions/codes/create-code/handler.ts'
import { handler as readCode } from '#functions/codes/read-code/handler.ts'
import { handler as createOrder } from '#functions/orders/create-order/handler.ts'
import { handler as listOrders } from '#functions/orders/list-orders/handler.ts'
import { handler as readOrder } from '#functions/orders/read-order/handler.ts'

export interface Soak {
  /** More than the process remembers. */
  editors: readonly string[]
  viewer: string
  requests: number
  /** The requests after which the first measurement is made. */
  warmUp: number
  /** Keeps every event: the defect that the test plants. */
  leaks: boolean
}

export interface Soaked {
  grownMegabytes: number
  /** The number of responses with each status. */
  statuses: Record<string, number>
}

type Handler = (event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>

interface Request {
  handler: unknown
  method: 'GET' | 'POST'
  path: string
  id?: string
  query?: Record<string, string[]>
  token?: string
  key?: string
  body?: unknown
}

const clients = 8
const stored = '0198a000-0000-8000-8000-000000000001'
const absent = '0198a000-0000-8000-8000-000000000404'

process.on('message', async (asked: Soak) => process.send?.(await soak(asked)))

async function soak({ requests, warmUp, ...asked }: Soak): Promise<Soaked> {
  const statuses: Soaked['statuses'] = {}
  const kept: unknown[] = []
  let turn = 0
  const run = async (until: number) => {
    const client = async () => {
      while (turn < until) {
        turn += 1
        // One after the other, because a replay follows its first request.
        for (const request of session(turn, asked)) {
          const event = eventOf(request)
          if (asked.leaks) kept.push(event)
          const { statusCode } = await (request.handler as Handler)(event, invocation())
          statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
        }
      }
    }
    await Promise.all(Array.from({ length: clients }, client))
    return heapBytes()
  }
  const { length } = session(0, asked)
  const before = await run(warmUp / length)
  const after = await run(requests / length)
  return { grownMegabytes: (after - before) / 1e6, statuses }
}

/** The requests of one client in one turn. */
function session(turn: number, { editors, viewer }: Pick<Soak, 'editors' | 'viewer'>): Request[] {
  const token = editors[turn % editors.length] ?? ''
  const key = `key-${turn}`
  const order = { handler: createOrder, method: 'POST', path: '/v1/orders', token, key } as const
  const body = { cart_id: `cart-${turn}`, amount_minor: turn, currency: 'EUR' }
  const read = { handler: readOrder, method: 'GET', path: `/v1/orders/${stored}`, id: stored, token } as const
  const list = { handler: listOrders, method: 'GET', path: '/v1/orders', token } as const
  const codes = { handler: createCode, method: 'POST', path: '/codes', token, key } as const
  return [
    { ...order, body },
    { ...order, body },
    { ...order, body: { ...body, amount_minor: turn + 1 } },
    { ...order, body: { ...body, unknown: `${turn}` } },
    { ...order, body, token: viewer },
    { ...order, body, token: `${token}x` },
    {
      ...codes,
      body: { code: `CODE-${turn}`, type: 'percent-10', name: 'Sale', expiry_at: '2099-01-31T12:00:00Z' },
    },
    { ...read },
    { ...read, path: `/v1/orders/${absent}`, id: absent },
    { handler: readCode, method: 'GET', path: `/codes/${stored}`, id: stored, token },
    { ...list, query: { page_size: ['5'] } },
    { handler: listOrders, method: 'GET', path: '/v1/orders' },
    // Rejected before the table is asked.
    { ...list, query: { page_size: [`${turn}0000`] } },
    { ...list, query: { cursor: [`${turn}`] } },
    { handler: createOrder, method: 'POST', path: '/v1/orders', token, body },
    { ...list, query: { sort: [`field-${turn}.asc`] } },
  ]
}

function eventOf({ method, path, id, query, token, key, body }: Request): APIGatewayProxyEvent {
  const headers: Record<string, string> = {
    Accept: 'application/json',
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...(key && { 'Idempotency-Key': key }),
  }
  return {
    resource: path,
    path,
    httpMethod: method,
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: null,
    multiValueQueryStringParameters: query ?? null,
    pathParameters: id ? { id } : null,
    stageVariables: null,
    requestContext: { path, identity: { sourceIp: '192.0.2.1' } } as APIGatewayProxyEvent['requestContext'],
    body: body === undefined ? null : JSON.stringify(body),
    isBase64Encoded: false,
  }
}

function invocation(): Context {
  const deadline = Date.now() + 30_000
  return { getRemainingTimeInMillis: () => deadline - Date.now() } as Context
}

function heapBytes(): number {
  gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
