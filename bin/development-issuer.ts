import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exportJWK, generateKeyPair, type JWK } from 'jose'

/** Lies outside the repository's history, so that no deployment anywhere trusts a published private key. */
const keyFile = join(import.meta.dirname, '../.local/issuer-key.json')

/** The private key of the local issuer: made at its first use and kept for this checkout. */
export async function developmentKey(): Promise<JWK> {
  try {
    return JSON.parse(await readFile(keyFile, 'utf8'))
  } catch {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const key = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: 'ES256', use: 'sig' }
    await mkdir(dirname(keyFile), { recursive: true })
    const draft = `${keyFile}.${process.pid}`
    await writeFile(draft, JSON.stringify(key), { mode: 0o600 })
    await rename(draft, keyFile)
    return JSON.parse(await readFile(keyFile, 'utf8'))
  }
}

/** The key set that stands for `"keys": "development"` in a profile of the local stage. */
export async function developmentKeySet(): Promise<{ keys: JWK[] }> {
  const { kty, crv, x, y, kid, alg, use } = (await developmentKey()) as Record<string, string>
  return { keys: [{ kty, crv, x, y, kid, alg, use } as JWK] }
}
