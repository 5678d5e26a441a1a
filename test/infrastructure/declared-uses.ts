import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { Right } from '#lib/rights.ts'
import { usesOf } from '#shared/platform/request/route.ts'
import { localSettings } from '#test/support/settings.ts'

/** Returns the uses that each function declares, by the name of the function. */
export function declaredUses(): Map<string, Set<Right>> {
  const declared = [
    ...routes.map((entry) => ({ name: functionOf(entry).name, uses: usesOf(entry.route, localSettings) })),
    ...subscriptions,
    ...steps,
  ]
  const byFunction = new Map<string, Set<Right>>()
  for (const { name, uses } of declared) {
    byFunction.set(name, new Set([...(byFunction.get(name) ?? []), ...uses]))
  }
  return byFunction
}
