import { createRequire } from 'node:module'
import { knownFiles } from './environment.ts'

// Its types are right for require only.
const { default: Sequencer }: typeof import('@jest/test-sequencer') = createRequire(import.meta.url)(
  '@jest/test-sequencer',
)
type Options = ConstructorParameters<typeof Sequencer>[0]
type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0]

/** Leaves out the test files without a test that covers the mutant, and begins with the fastest. */
export default class CoveringFiles extends Sequencer {
  readonly #covering: RegExp

  constructor(options: Options) {
    super(options)
    this.#covering = new RegExp(options.globalConfig.testNamePattern ?? '', 'i')
  }

  override sort(tests: Tests): Tests {
    const covers = ({ path }: Tests[number]) => {
      const known = knownFiles.get(path)
      return !known || [...known.tests].some((name) => this.#covering.test(name))
    }
    const duration = ({ path }: Tests[number]) => knownFiles.get(path)?.milliseconds ?? 0
    return tests.filter(covers).toSorted((one, other) => duration(one) - duration(other))
  }
}
