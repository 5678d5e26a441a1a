import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exportJWK, generateKeyPair, type JWK } from 'jose'

/** Stored outside the repository's history, so no deployment trusts a published private key. */
const keyFile = join(import.meta.dirname, '../.local/issuer-key.json')

/** Returns the private key of the local issuer. It is generated at first use and kept for this checkout. */
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

/** Returns the key set for `"keys": "development"` in a profile of the local stage. */
export async function developmentKeySet(): Promise<{ keys: JWK[] }> {
  const { kty, crv, x, y, kid, alg, use } = (await developmentKey()) as Record<string, string>
  return { keys: [{ kty, crv, x, y, kid, alg, use } as JWK] }
}
