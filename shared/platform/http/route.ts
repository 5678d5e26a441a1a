import type * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Access } from '../auth/matrix.ts'
import type { ErrorCode } from '../errors/catalogue.ts'
import type { Listing } from '../listing/listing.ts'

/** What a function may do; its rights on AWS come from these and from nothing else. */
export type Use = 'table.read' | 'table.find' | 'table.write' | 'secret.read'

/** One operation of the service as data: read by its handler, the infrastructure, the API description and the tests. */
export interface Route<Body extends v.GenericSchema = v.GenericSchema> {
  /** `<area>.<verb>`: its name in settings, logs and audit records. */
  operation: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path variables are whole segments: `/v1/orders/{id}`. */
  path: string
  summary: string
  description: string
  auth: 'bearer' | 'none'
  /** The row of the role matrix; every bearer route has one. */
  access?: Access
  /** The token scope that the contract names. Others come from the setting auth.scopes. */
  scope?: string
  /** `required` where the contract's section names the key; `accepted` elsewhere unless a deployment requires it. */
  idempotency: 'required' | 'accepted' | 'none'
  /** Largest body in KB of 1,024 bytes (contract, 'Limits'): of the request where it has one, else of the reply. */
  payloadKilobytes?: number
  /** Latency budget in milliseconds (contract, 'Limits'). */
  latency?: { p95: number; p99: number }
  body?: (settings: Settings) => Body
  /** For lists: the fields, filters and sorts. */
  listing?: Listing
  reply: {
    status: (settings: Settings) => number
    schema: (settings: Settings) => v.GenericSchema
    mediaType?: (settings: Settings) => string
    etag?: boolean
    location?: boolean
  }
  /** Codes beyond those that every route may answer with. */
  errors: readonly ErrorCode[]
  /** The settings that shape the request or the reply, shown as x-open-point. */
  openPoints: readonly (keyof Settings)[]
  uses: readonly Use[]
  /** What people lose when this function fails, in a sentence: the text of its alarm. */
  breaks: string
}

export function defineRoute<const Body extends v.GenericSchema = never>(route: Route<Body>): Route<Body> {
  return route
}

/** The names of the variables in a path. */
export function pathVariables(path: string): string[] {
  return Array.from(path.matchAll(/\{([a-z_]+)\}/g), (match) => match[1] as string)
}

export function hasBody(route: Pick<Route, 'method'>): boolean {
  return route.method === 'POST' || route.method === 'PATCH'
}
