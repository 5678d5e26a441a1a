/**
 * The core of the platform, by area: the sources that are mutated, and the tests that run for each mutant. These tests
 * load in a fraction of a second and call no other process. Areas are ordered by the damage of a defect.
 */
export const areas: Record<string, { sources: string[]; tests: string[] }> = {
  refunds: {
    sources: ['shared/refunds/{refund,refund-saga,refund-store}.ts'],
    tests: ['test/refunds/refund-saga.test.ts', 'test/refunds/refund.test.ts'],
  },
  stripe: {
    sources: ['shared/refunds/stripe-provider.ts'],
    tests: ['test/refunds/stripe-provider.test.ts', 'test/refunds/stripe-retries.test.ts'],
  },
  idempotency: {
    sources: ['shared/platform/idempotency/*.ts', 'shared/platform/request/finish-sagas.ts'],
    tests: ['test/idempotency/*.test.ts'],
  },
  identity: {
    sources: ['shared/platform/identity/*.ts'],
    tests: [
      'test/identity/authorize.test.ts',
      'test/identity/credentials.test.ts',
      'test/identity/tokens.test.ts',
      'test/guarantees/tokens.test.ts',
    ],
  },
  listing: {
    sources: ['shared/platform/listing/*.ts'],
    tests: ['test/listing/*.test.ts'],
  },
  table: {
    sources: ['shared/platform/table/*.ts', 'shared/platform/aws/{dynamodb-table,retry}.ts'],
    tests: ['test/table/*.test.ts', 'test/aws/{retry,signature}.test.ts'],
  },
  request: {
    sources: ['shared/platform/request/!(finish-sagas).ts'],
    tests: ['test/request/*.test.ts'],
  },
}

/** The area of this run. */
export function currentArea() {
  const name = process.env.MUTATED_AREA ?? ''
  const area = areas[name]
  if (!area) throw new Error(`no area ${name}: run npm run mutate`)
  return { name, ...area }
}
