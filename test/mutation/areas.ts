/**
 * The core of the platform, by area: the sources that are mutated, and the tests that run for each mutant. These tests
 * load in a fraction of a second and call no other process. Areas are ordered by the damage of a defect. `texts`: texts
 * are mutated, too.
 */
export const areas: Record<string, { sources: string[]; tests: string[]; texts?: true }> = {
  refunds: {
    sources: ['shared/refunds/{refund,refund-saga,refund-states,refund-store,settle-refund}.ts'],
    tests: [
      'test/refunds/{refund,refund-saga,settle-refund,lost-refunds,pending-refunds,check-refunds}.test.ts',
      'test/{refunds/settle-by-operator,operators/adopt-payouts}.test.ts',
    ],
  },
  stripe: {
    sources: ['shared/refunds/stripe-{client,provider}.ts'],
    tests: ['test/refunds/{stripe-provider,stripe-retries,lost-refunds}.test.ts'],
  },
  reconciliation: {
    sources: ['shared/refunds/{difference,reconcile,reconcile-daily,list-stripe-refunds}.ts'],
    tests: ['test/refunds/{difference,reconcile,reconcile-daily,list-stripe-refunds}.test.ts'],
  },
  money: {
    sources: ['shared/discounts/{amount-off,cart-discounts}.ts', 'shared/carts/cart.ts'],
    tests: ['test/discounts/{amounts,carts}.test.ts'],
  },
  deliveries: {
    sources: ['shared/deliveries/*.ts'],
    tests: ['test/deliveries/*.test.ts', 'test/operators/deliveries.test.ts'],
  },
  subscribers: {
    sources: ['shared/subscribers/*.ts'],
    tests: [
      'test/subscribers/*.test.ts',
      'test/deliveries/send-deliveries.test.ts',
      'test/operators/subscribers.test.ts',
    ],
  },
  commit: {
    sources: ['shared/platform/idempotency/commit{,-decision}.ts'],
    tests: ['test/idempotency/commit.test.ts'],
  },
  idempotency: {
    sources: ['shared/platform/idempotency/{backlog,pending-saga,idempotency-record,run-once}.ts'],
    tests: ['test/idempotency/{backlog,pending-saga,idempotency-record,run-once}.test.ts'],
  },
  sweeper: {
    sources: ['shared/platform/request/finish-sagas.ts'],
    tests: ['test/idempotency/finish-sagas.test.ts'],
  },
  authorization: {
    sources: ['shared/platform/identity/authorize.ts'],
    tests: ['test/identity/authorize.test.ts'],
  },
  credentials: {
    sources: ['shared/platform/identity/{api-key,caller,session,signature}.ts'],
    tests: ['test/{identity/credentials,webhooks/webhook-keys}.test.ts'],
  },
  tokens: {
    sources: ['shared/platform/identity/{issuer,token}.ts'],
    tests: ['test/identity/{tokens,verified-tokens}.test.ts'],
  },
  queries: {
    sources: ['shared/platform/listing/{cursor,list-query,listing,parse-filter}.ts'],
    tests: ['test/listing/list-query.test.ts'],
  },
  requests: {
    sources: [
      'shared/platform/request/{handle-request,check-request,respond,execution,endpoint,context,route,parse-headers}.ts',
      'shared/platform/audit/*.ts',
    ],
    tests: [
      'test/audit/*.test.ts',
      'test/request/{endpoints,accept,route,parse-headers,log-origin,unknown-routes,deployment-limits}.test.ts',
      'test/{base/error-counts,guarantees/correlation,identity/api-keys,identity/verified-tokens}.test.ts',
      'test/idempotency/finish-sagas.test.ts',
    ],
  },
  bodies: {
    sources: ['shared/platform/request/{invalid-fields,strict-json}.ts'],
    tests: ['test/request/{invalid-fields,strict-json}.test.ts'],
  },
  limits: {
    sources: ['shared/platform/request/rate-limit.ts', 'shared/platform/table/window.ts'],
    tests: [
      'test/request/{counters,deployment-limits,endpoints,throttle}.test.ts',
      'test/discounts/guesses.test.ts',
    ],
  },
  lists: {
    sources: ['shared/platform/listing/{order,read-index}.ts'],
    tests: ['test/listing/{order,sort-keys,pages,budgets,requests}.test.ts'],
  },
  pages: {
    sources: ['shared/platform/listing/read-page.ts', 'shared/platform/request/list-decision.ts'],
    tests: ['test/listing/{pages,budgets,requests}.test.ts', 'test/request/list-decision.test.ts'],
  },
  table: {
    sources: ['shared/platform/table/{keys,pending-entries,table}.ts'],
    tests: ['test/table/{pending-entries,table}.test.ts'],
  },
  dynamodb: {
    texts: true,
    sources: ['shared/platform/aws/{dynamodb-{table,expressions},retry}.ts'],
    tests: ['test/table/dynamodb-{table,expressions}.test.ts', 'test/aws/{retry,signature}.test.ts'],
  },
}

/** The area of this run. */
export function currentArea() {
  const name = process.env.MUTATED_AREA ?? ''
  const area = areas[name]
  if (!area) throw new Error(`no area ${name}: run npm run mutate`)
  return { name, ...area }
}
