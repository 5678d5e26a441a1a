import { basename } from 'node:path'
import { expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { Right } from '#lib/rights.ts'
import { declaredUses } from '#test/infrastructure/declared-uses.ts'
import { play } from './schedule.ts'

const schedules = 200

/** The use that permits a call or a change of the table. */
const permits: Record<string, Right> = {
  get: 'table.read',
  'get-many': 'table.read-many',
  'read-range': 'table.query',
  'find-by-id': 'table.find',
  'insert-many': 'table.insert',
  item: 'table.write',
  update: 'table.update',
  remove: 'table.delete',
  check: 'table.check',
}

/** The functions by the names of their processes, if those differ. */
const functions = new Map([
  ...steps.map(({ name, step }) => [`import-${step}`, name] as const),
  ...subscriptions.map(({ name, folder, source }) =>
    typeof source === 'object' && 'queue' in source
      ? ([source.queue, name] as const)
      : ([basename(folder), name] as const),
  ),
])

test('no function uses the table in a way that its role does not permit, whatever fails', async () => {
  const accesses = new Map<string, Set<string>>()
  for (let seed = 1; seed <= schedules; seed += 1) await play({ seed, accesses })
  const declared = declaredUses()
  const denied = [...accesses].flatMap(([process, names]) => {
    const name = functions.get(process) ?? process
    const used = [...names].flatMap((access) => permits[access] ?? [])
    return used.filter((use) => !declared.get(name)?.has(use)).map((use) => `${name} ${use}`)
  })
  expect(accesses.size).toBeGreaterThan(25)
  expect(denied).toEqual([])
})
