import CompilingEnvironment from '../tooling/environment.ts'

/** The parts of a test and an event of jest-circus that are used here. */
interface TestBlock {
  name: string
  parent?: TestBlock
  mode?: string
  duration?: number
  errors: unknown[]
}
interface TestEvent {
  name: string
  test?: TestBlock
}

/** A test file that this process has loaded: the full names of its tests, and the duration of its latest run. */
interface KnownFile {
  tests: Set<string>
  milliseconds: number
}
export const knownFiles = new Map<string, KnownFile>()

/** The mutants that a test has found. */
const found = new Set<string>()

/** A test that takes as long may have left a loop behind. Its process is replaced only if the mutant times out. */
const hangMilliseconds = 5000

/** Skips the tests that follow the one that found the mutant: Jest has no other way to end a run. */
export default class extends CompilingEnvironment {
  readonly #path: string
  readonly #startedAt = Date.now()

  constructor(...options: ConstructorParameters<typeof CompilingEnvironment>) {
    super(...options)
    this.#path = options[1].testPath
  }

  handleTestEvent({ name, test }: TestEvent): void {
    if (!test) return
    const mutant = process.env.__STRYKER_ACTIVE_MUTANT__ ?? ''
    // A file that a mutant keeps from loading stays known by its earlier runs.
    const file = knownFiles.get(this.#path) ?? { tests: new Set(), milliseconds: 0 }
    if (name === 'test_start') {
      knownFiles.set(this.#path, file)
      file.tests.add(fullName(test))
      if (found.has(mutant)) test.mode = 'skip'
    }
    if (name !== 'test_done') return
    file.milliseconds = Date.now() - this.#startedAt
    if (mutant !== '' && test.errors.length > 0 && (test.duration ?? 0) < hangMilliseconds) found.add(mutant)
  }
}

function fullName({ name, parent }: TestBlock): string {
  // The outermost block is the file.
  return parent?.parent ? `${fullName(parent)} ${name}` : name
}
