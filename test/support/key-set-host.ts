import { afterEach, beforeEach } from '@jest/globals'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import type { Settings } from '#shared/settings/register.ts'
import { startHttpServer } from './http-server.ts'
import { localSettings } from './settings.ts'

/** A key pair of an issuer. */
export interface IssuerKey {
  jwk: JWK
  privateKey: CryptoKey
}

export async function issuerKey(kid: string): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }, privateKey }
}

/** An issuer that publishes its keys on loopback, with the faults that a test sets. */
interface KeySetHost {
  settings: Settings
  fetched: number
  keys: JWK[]
  /** The response instead of the keys. */
  fault?: { status: number; body: string }
  /** Accepts requests without responding. */
  silent: boolean
  stop(): Promise<void>
}

/** Starts such an issuer before each test, and stops it after it. @returns the current one */
export function useKeySetHost(...keys: IssuerKey[]): () => KeySetHost {
  let host: KeySetHost
  beforeEach(async () => {
    host = await startKeySetHost(...keys)
  })
  afterEach(() => host.stop())
  return () => host
}

async function startKeySetHost(...keys: IssuerKey[]): Promise<KeySetHost> {
  const { url, stop } = await startHttpServer((_, response) => {
    host.fetched += 1
    if (host.silent) return
    const { status, body } = host.fault ?? { status: 200, body: JSON.stringify({ keys: host.keys }) }
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  // The validation of a deployment accepts only https.
  const jwks_uri = `${url}/keys`
  const issuers = localSettings['auth.issuers'].map((issuer) => ({ ...issuer, keys: { jwks_uri } }))
  const settings = { ...localSettings, 'auth.issuers': issuers }
  const host: KeySetHost = { settings, fetched: 0, keys: keys.map(({ jwk }) => jwk), silent: false, stop }
  return host
}

/** Returns a token of the issuer. @param header without `kid` for a token without one */
export async function tokenBy(
  { jwk, privateKey }: IssuerKey,
  now: number,
  header: Partial<JWTHeaderParameters> = jwk.kid === undefined ? {} : { kid: jwk.kid },
): Promise<string> {
  const [issuer] = localSettings['auth.issuers']
  return new SignJWT({ sub: 'u1', tenant: 'acme', roles: 'Editor' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header })
    .setIssuer(issuer?.issuer ?? '')
    .setAudience(issuer?.audience ?? '')
    .setIssuedAt(Math.floor(now / 1000))
    .setExpirationTime(Math.floor(now / 1000) + 86_400)
    .sign(privateKey)
}
