import { createRequire } from 'node:module'
import { join } from 'node:path'

// Its types are right for require only.
const { default: Sequencer }: typeof import('@jest/test-sequencer') = createRequire(import.meta.url)(
  '@jest/test-sequencer',
)
type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0]

const root = join(import.meta.dirname, '../..')

/** The files that take longest, longest first. Jest takes short ones of them for quick. */
export const longFiles = [
  'test/end-to-end/service.campaign.test.ts',
  'test/bench/soak.campaign.test.ts',
  'test/end-to-end/newcomer.campaign.test.ts',
  'test/end-to-end/changes.campaign.test.ts',
  'test/end-to-end/restore-procedure.campaign.test.ts',
  'test/end-to-end/rollback.campaign.test.ts',
  'test/end-to-end/operations.campaign.test.ts',
  'test/infrastructure/checkov.campaign.test.ts',
  'test/infrastructure/documented-commands.campaign.test.ts',
  'test/simulation/simulation.test.ts',
  'test/infrastructure/template-errors.test.ts',
  'test/client/package.campaign.test.ts',
  'test/simulation/defects.campaign.test.ts',
  'test/infrastructure/cfn-lint.campaign.test.ts',
  'test/infrastructure/app.campaign.test.ts',
  'test/faults/refund-faults.test.ts',
  'test/faults/operations.test.ts',
  'test/aws/s3-files.test.ts',
].map((file) => join(root, file))

/**
 * Starts with the files that took longest, as jest does. In a fresh checkout, as in CI, jest knows no durations and starts
 * with the largest files. Then a short file that takes minutes would run alone at the end.
 */
export default class LongestFirst extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    const sorted = await super.sort(tests)
    const long = longFiles.flatMap((file) => sorted.filter(({ path }) => path === file))
    return [...long, ...sorted.filter((one) => !long.includes(one))]
  }
}
