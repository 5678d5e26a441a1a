import { expect, test } from '@jest/globals'
import { readFindings } from './count-seeds.ts'
import { defects } from './defects.ts'
import { simulate } from './run-simulate.ts'

const findings = readFindings()

test.each(Object.keys(defects))(
  'the simulator finds %s',
  async (name) => {
    const { seed, promise } = findings[name] ?? {}
    const { output } = await simulate('--defect', name, '--seed', String(seed), '--runs', '1', '--brief')
    expect(output).toContain(`seed ${seed} failed: ${promise}`)
  },
  120_000,
)
