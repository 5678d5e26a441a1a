import { basename } from 'node:path'
import { expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { declaredUses } from '#test/infrastructure/declared-uses.ts'
import { runs } from '#test/support/runs.ts'
import { play } from './schedule.ts'

/** The functions by the names of their processes, if those differ. */
const functions = new Map([
  ...steps.map(({ name, step }) => [`import-${step}`, name] as const),
  ...subscriptions.map(({ name, folder, source }) =>
    typeof source === 'object' && 'queue' in source
      ? ([source.queue, name] as const)
      : ([basename(folder), name] as const),
  ),
])

test('no function accesses items of the table that it does not declare, whatever fails', async () => {
  const accesses = new Map<string, Set<string>>()
  for (let seed = 1; seed <= runs(500).numRuns; seed += 1) await play({ seed, accesses })
  const declared = declaredUses()
  const undeclared = [...accesses].flatMap(([process, names]) => {
    const name = functions.get(process) ?? process
    const { table = {} } = declared.get(name) ?? {}
    const permitted = new Set(
      Object.entries(table).flatMap(([call, kinds]) => kinds.map((kind) => `${call} ${kind}`)),
    )
    return [...names].filter((access) => !permitted.has(access)).map((access) => `${name} ${access}`)
  })
  expect(accesses.size).toBeGreaterThan(25)
  expect(undeclared).toEqual([])
})
