import { keyDerivation } from '#shared/platform/base/secrets.ts'
import type { Runtime } from '#shared/platform/request/context.ts'

/** The deployment secret of the tests. */
export const testSecret = 'a secret of the tests, long enough'

const deriveKey = keyDerivation()

/** The keys of a runtime, derived from the secret of the tests. */
export const testKeys = {
  derivedKey: async (purpose) => deriveKey(testSecret, purpose),
  versionedKey: async (purpose, _budget, version = 'v1') => ({
    key: deriveKey(testSecret, purpose),
    version,
  }),
} satisfies Pick<Runtime, 'derivedKey' | 'versionedKey'>
