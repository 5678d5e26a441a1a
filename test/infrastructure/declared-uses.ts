import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { Right } from '#lib/access/rights.ts'
import { joined, tableUseOf } from '#lib/access/table-use.ts'
import type { TableUse } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'

/** What a function declares to use. */
interface Declared {
  uses: Set<Right>
  table: TableUse
}

/** Returns what each function declares to use, by the name of the function. */
export function declaredUses(settings: Settings = localSettings): Map<string, Declared> {
  const declared: { name: string; uses: readonly Right[]; table?: TableUse }[] = [
    ...routes.map((entry) => {
      const { route } = entry
      return { name: functionOf(entry).name, uses: route.uses, table: tableUseOf(route, settings) }
    }),
    ...subscriptions,
    ...steps,
  ]
  const byFunction = Map.groupBy(declared, ({ name }) => name)
  return new Map(
    Array.from(byFunction, ([name, all]) => [
      name,
      { uses: new Set(all.flatMap(({ uses }) => uses)), table: joined(all.map(({ table = {} }) => table)) },
    ]),
  )
}
