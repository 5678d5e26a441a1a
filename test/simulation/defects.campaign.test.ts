import { expect, test } from '@jest/globals'
import { defects, seeds } from './defects.ts'
import { simulate } from './run-simulate.ts'

test.each(Object.keys(defects))(
  'the simulator finds %s',
  async (name) => {
    const { output } = await simulate('--defect', name, '--seed', String(seeds[name]), '--runs', '1')
    expect(output).toContain(`seed ${seeds[name]} failed: `)
  },
  120_000,
)
