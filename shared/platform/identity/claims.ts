/** The names of the objects that a claim is in, and its own name. A name may contain any character, such as dots. */
export type ClaimPath = readonly string[]

/** Returns the claim at a path; undefined if the token has none. */
export function claimAt(claims: unknown, path: ClaimPath): unknown {
  return path.reduce(
    (value: unknown, name) =>
      typeof value === 'object' && !Array.isArray(value) && value && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined,
    claims,
  )
}

/** Returns the texts of a claim that is a list, or one text in which spaces separate them. */
export function textsOf(claim: unknown): string[] {
  const values: unknown[] = typeof claim === 'string' ? claim.split(' ') : [claim].flat()
  return values.filter((value): value is string => typeof value === 'string' && value !== '')
}

/** Returns claims with these values at their paths, for the tokens of the local issuer. */
export function claimsWith(values: readonly [path: ClaimPath | undefined, value: unknown][]) {
  return values.reduce((claims, [path = [], value]) => withClaim(claims, path, value), {})
}

function withClaim(claims: object, [name, ...rest]: ClaimPath, value: unknown): object {
  if (name === undefined) return claims
  const within = (claimAt(claims, [name]) ?? {}) as object
  return { ...claims, [name]: rest.length > 0 ? withClaim(within, rest, value) : value }
}
