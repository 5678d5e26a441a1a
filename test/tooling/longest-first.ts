import { createRequire } from 'node:module'
import { join } from 'node:path'

// Its types are right for require only.
const { default: Sequencer }: typeof import('@jest/test-sequencer') = createRequire(import.meta.url)(
  '@jest/test-sequencer',
)
type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0]

const root = join(import.meta.dirname, '../..')

/** Short files that take minutes. */
export const longFiles = [
  'test/simulation/simulation.test.ts',
  'test/simulation/defects.campaign.test.ts',
  'test/bench/soak.campaign.test.ts',
  'test/infrastructure/checkov.campaign.test.ts',
  'test/infrastructure/cfn-lint.campaign.test.ts',
].map((file) => join(root, file))

/**
 * Starts with the files that took longest, as jest does. In a fresh checkout jest knows no durations and starts with the
 * largest files. Then a short file that takes minutes would run alone at the end.
 */
export default class LongestFirst extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const sorted = await super.sort(tests)
    const isLong = ({ path }: Tests[number]) => longFiles.includes(path)
    return [...sorted.filter(isLong), ...sorted.filter((one) => !isLong(one))]
  }
}
