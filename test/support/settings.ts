import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { claimsWith } from '#shared/platform/identity/claims.ts'
import { readProfile, resolveProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'

const { publicKey, privateKey } = await generateKeyPair('ES256')
export const keySet = { keys: [{ ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256', use: 'sig' }] }
export const signingKey = privateKey

const root = join(import.meta.dirname, '../..')

/** Returns a profile with the key set and the payment provider of this test run instead of the local ones. */
export function profile(file: string, changes: Record<string, unknown> = {}): Settings {
  const values = JSON.parse(readFileSync(join(root, file), 'utf8'))
  for (const issuer of values['auth.issuers']) if (issuer.keys === 'development') issuer.keys = keySet
  const { PAYMENT_PROVIDER_ENDPOINT: endpoint } = process.env
  if (endpoint) values['refunds.provider'].endpoint = endpoint
  return readProfile({ ...resolveProfile(values, file), ...changes }, file)
}

/** The settings that the repository ships. */
export const localSettings = profile('shared/settings/profiles/local.json')
/** The local settings with a budget that even a busy machine does not exceed, for many items or concurrent requests. */
export const longTimeoutSettings: Settings = {
  ...localSettings,
  'requests.timeoutHeader': { ...localSettings['requests.timeoutHeader'], maxMilliseconds: 100_000 },
}
/** The local settings for tokens that are signed once for a long simulated time. */
export const longTokenSettings: Settings = { ...localSettings, 'auth.maxTokenSeconds': 30 * 24 * 3600 }
/** The local settings without a lower limit of X-Request-Timeout, for requests whose time is up early. */
export const shortTimeoutSettings: Settings = {
  ...localSettings,
  'requests.timeoutHeader': { ...localSettings['requests.timeoutHeader'], minMilliseconds: 1 },
}
/** Settings that differ from the local ones wherever possible. */
export const otherSettings = profile('test/support/profiles/other.json')

export interface Identity {
  tenant?: string
  role?: string | string[]
  sub?: string
  scope?: string
  expiresInSeconds?: number
  /** Overrides the standard claims; null removes one. */
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
}

/** Returns a token of the first issuer of the settings. */
export async function tokenFor(
  identity: Identity,
  settings: Settings = localSettings,
  now = Date.now(),
): Promise<string> {
  const {
    tenant = 'acme',
    role = 'Editor',
    sub = 'u1',
    scope,
    expiresInSeconds = 3600,
    claims,
    header,
  } = identity
  const [issuer] = settings['auth.issuers']
  const seconds = Math.floor(now / 1000)
  const payload = {
    iss: issuer?.issuer,
    aud: issuer?.audience,
    sub,
    ...claimsWith([
      [issuer?.claims.tenant, tenant],
      [issuer?.claims.roles, role],
      [issuer?.claims.scopes, scope],
    ]),
    iat: seconds,
    exp: seconds + expiresInSeconds,
    ...claims,
  }
  const crit = (header?.crit as string[] | undefined) ?? []
  const present = Object.entries(payload).filter(([, value]) => value !== null && value !== undefined)
  return new SignJWT(Object.fromEntries(present))
    .setProtectedHeader({ alg: 'ES256', kid: 'test', typ: String(issuer?.types[0]), ...header })
    .sign(signingKey, { crit: Object.fromEntries(crit.map((name) => [name, true])) })
}
