import { expect, test } from '@jest/globals'
import { changedSources, defects, findingOf } from './defects.ts'
import { simulate } from './run-simulate.ts'

test.each(defects)('the simulator finds %s', async (name) => {
  changedSources(name)
  const { seed, promise } = findingOf(name) ?? {}
  const { output } = await simulate('--defect', name, '--seed', String(seed), '--runs', '1', '--brief')
  expect(output).toContain(`seed ${seed} failed: ${promise}`)
})
