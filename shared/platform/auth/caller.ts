/** The roles of the contract, weakest first; Service stands beside them. */
export const roles = ['Viewer', 'Editor', 'Admin', 'Service'] as const
export type Role = (typeof roles)[number]

/** Who a verified credential says the caller is. */
export interface Caller {
  sub: string
  tenant: string
  /** Absent when the credential carries no role that the service knows: every operation is denied then. */
  role: Role | undefined
  scopes: ReadonlySet<string>
  /** True for an API key, which may do only what its scopes name. */
  apiKey?: true
  claims: Readonly<Record<string, unknown>>
}

/** The caller as audit records name them. */
export type Actor = Pick<Caller, 'sub' | 'tenant' | 'role'>

/** The highest known role of a claim that is a string or an array of strings. */
export function highestRole(claim: unknown): Role | undefined {
  const named = Array.isArray(claim) ? claim : [claim]
  return (['Admin', 'Editor', 'Viewer', 'Service'] as const).find((role) => named.includes(role))
}

/** The name of a principal in keys of the table; a subject is unique to its issuer only. Empty for anonymous callers. */
export function principalOf(caller: Caller | undefined): string {
  return caller ? JSON.stringify([caller.claims.iss, caller.sub]) : ''
}
