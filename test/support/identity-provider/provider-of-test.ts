import { afterAll, beforeEach } from '@jest/globals'
import { startIdentityProvider, useIdentityProvider } from './identity-provider.ts'

/** Starts a fake for a test file, to which the service is directed. Each test begins without faults and calls. */
export async function providerOfTest(): ReturnType<typeof startIdentityProvider> {
  const provider = await startIdentityProvider()
  useIdentityProvider(provider)
  beforeEach(() => {
    provider.calls.length = 0
    provider.mailed.length = 0
    provider.faults = () => undefined
  })
  afterAll(() => provider.stop())
  return provider
}
