import { type KeyName, keyDerivation } from '#shared/platform/base/secrets.ts'
import type { Runtime } from '#shared/platform/request/context.ts'

/** Returns the secret of a key in the tests. */
export function testSecret(name: KeyName): string {
  return `the secret ${name} of the tests, long enough`
}

const deriveKey = keyDerivation()

/** The keys of a runtime, derived from the secrets of the tests. */
export const testKeys = {
  derivedKey: async (name) => deriveKey(testSecret(name), name),
  versionedKey: async (name, _budget, version = 'v1') => ({
    key: deriveKey(testSecret(name), name),
    version,
  }),
} satisfies Pick<Runtime, 'derivedKey' | 'versionedKey'>
