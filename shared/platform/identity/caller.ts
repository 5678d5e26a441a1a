import { isIPv6 } from 'node:net'
import type { HttpRequest } from '../base/http.ts'
import type { ClaimPath } from './claims.ts'

/** The roles, weakest first; Service is outside this order. */
export const roles = ['Viewer', 'Editor', 'Admin', 'Service'] as const
export type Role = (typeof roles)[number]

/** The caller that a verified credential identifies. */
export interface Caller {
  sub: string
  tenant: string
  /** Absent if the credential has no known role: every operation is then denied. */
  role: Role | undefined
  scopes: ReadonlySet<string>
  /** The only tenants in which its issuer may name callers. Its Admins act in no other. */
  tenants?: readonly string[]
  /** The id of the API key, which is limited to its scopes. `sub` stays the same when a key is rotated. */
  apiKey?: string
  claims: Readonly<Record<string, unknown>>
  /** Where the tokens of its issuer have roles and scopes. Absent without a token. */
  claimPaths?: { roles: ClaimPath; scopes: ClaimPath }
}

/** The caller in audit records. */
export type Actor = Pick<Caller, 'sub' | 'tenant' | 'role' | 'apiKey'> & Partial<Pick<Caller, 'claims'>>

/** Returns the highest known role of a claim that is a list, or one role. A text is not split: it may be a title with a role in it. */
export function roleFromClaim(claim: unknown): Role | undefined {
  const named: unknown[] = [claim].flat()
  return (['Admin', 'Editor', 'Viewer', 'Service'] as const).find((role) => named.includes(role))
}

/** Returns the name of a principal in table keys. A subject is unique per issuer only. Empty for anonymous callers. */
export function principalOf(caller: Caller | undefined): string {
  return caller ? JSON.stringify([caller.claims.iss, caller.sub]) : ''
}

/**
 * Returns the source by which throttles count a request: an IPv4 address, or the /64 network of an IPv6 address. One
 * subscriber usually owns at least a /64.
 */
export function sourceOf({ sourceAddress }: Pick<HttpRequest, 'sourceAddress'>): string {
  // The first isIPv6 compiles a large expression, which an IPv4 address does not need.
  if (!sourceAddress.includes(':')) return sourceAddress
  const [address = ''] = sourceAddress.split('%')
  if (!isIPv6(address) || /\./.test(address)) return sourceAddress
  // The URL parser normalizes the address and compresses the longest run of zeros.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (part: string) => part.split(':').filter(Boolean)
  const [first, last] = [groupsOf(head), groupsOf(tail)]
  const zeros = Array(8 - first.length - last.length).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
