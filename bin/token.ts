import { parseArgs } from 'node:util'
import { importJWK, SignJWT } from 'jose'
import { roles } from '#shared/platform/identity/caller.ts'
import type { Settings } from '#shared/settings/register.ts'
import { run } from './command.ts'
import { developmentKey } from './development-issuer.ts'
import { loadSettings, localProfile } from './settings-file.ts'

export interface TokenRequest {
  tenant: string
  role: string
  sub: string
  /** Separated by spaces. */
  scope?: string
  /** Negative for an expired token. */
  expiresInSeconds?: number
  /** Overrides the standard claims; null removes one. */
  claims?: Record<string, unknown>
}

/** Signs a token of the local issuer. Invalid tokens are possible, to try out rejections. */
export async function issueToken(request: TokenRequest, profile: string = localProfile): Promise<string> {
  return signToken(request, await loadSettings(profile, 'local'))
}

async function signToken(request: TokenRequest, settings: Settings): Promise<string> {
  const { tenant, role, sub, scope, expiresInSeconds = 3600, claims = {} } = request
  const key = await developmentKey()
  const issuer = settings['auth.issuers'].find(
    ({ keys }) => 'keys' in keys && keys.keys.some(({ kid }) => kid === key.kid),
  )
  if (!issuer) throw new Error('no issuer of this profile has the key set "development"')
  const now = Math.floor(Date.now() / 1000)
  const standard = {
    iss: issuer.issuer,
    aud: issuer.audience,
    sub,
    tenant,
    [settings['auth.roleClaim']]: [role],
    ...(scope !== undefined && { [settings['auth.scopeClaim']]: scope }),
    iat: now,
    exp: now + expiresInSeconds,
    jti: crypto.randomUUID(),
  }
  const payload = Object.entries({ ...standard, ...claims }).filter(([, value]) => value !== null)
  const header = { alg: 'ES256', typ: 'at+jwt', kid: String(key.kid) }
  return new SignJWT(Object.fromEntries(payload))
    .setProtectedHeader(header)
    .sign(await importJWK(key, 'ES256'))
}

const usage = `usage: npm run -s token -- --tenant T --role R --sub S
  [--scope "codes:read codes:write"] [--expires-in SECONDS] [--claims JSON] [--settings FILE]`

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: joinNegativeNumbers(process.argv.slice(2)),
    options: {
      tenant: text,
      role: text,
      sub: text,
      scope: text,
      'expires-in': text,
      claims: text,
      settings: text,
    },
  })
  const { tenant, role, sub, scope, claims, settings } = values
  if (tenant === undefined || role === undefined || sub === undefined)
    throw new Error('tenant, role and sub are needed')
  if (!roles.some((known) => known === role))
    console.error(`warning: there is no role '${role}'; the roles are ${roles.join(', ')}`)
  const expiresInSeconds = Number(values['expires-in'] ?? '3600')
  if (!Number.isInteger(expiresInSeconds)) throw new Error('--expires-in takes a whole number of seconds')
  const request = { tenant, role, sub, expiresInSeconds, claims: JSON.parse(claims ?? '{}') }
  console.log(await issueToken({ ...request, ...(scope !== undefined && { scope }) }, settings))
}

/** Writes `--option -60` as `--option=-60`, because parseArgs reads the number as another option. */
function joinNegativeNumbers(args: readonly string[]): string[] {
  const joined: string[] = []
  for (const arg of args) {
    const before = joined.at(-1) ?? ''
    if (/^-\d+$/.test(arg) && /^--[^=]+$/.test(before)) joined[joined.length - 1] = `${before}=${arg}`
    else joined.push(arg)
  }
  return joined
}

if (import.meta.main) await run(usage, main)
