import { currentArea } from './areas.ts'

const { name, sources, texts } = currentArea()
const folder = '.build/mutation'

export default {
  testRunner: 'jest',
  // Its own search for plugins does not find those of a linked node_modules.
  plugins: ['@stryker-mutator/jest-runner'],
  coverageAnalysis: 'perTest',
  concurrency: Number(process.env.MUTATION_WORKERS ?? 1),
  mutate: sources,
  // On top of one and a half times the duration of the tests. Most endless loops end earlier: by their count, or because
  // a test bounds its requests.
  timeoutMS: 5_000,
  // An empty text where a code, a state, an attribute or a header belongs does not compile: the types name them.
  mutator: { excludedMutations: texts ? [] : ['StringLiteral'] },
  jest: { configFile: 'test/mutation/jest.config.mjs', enableFindRelatedTests: false },
  ignorePatterns: ['.local', '.build', 'cdk.out', 'test/bench/peers'],
  tempDirName: '.build/stryker',
  incremental: true,
  incrementalFile: `${folder}/${name}.incremental.json`,
  reporters: ['json', 'progress-append-only'],
  jsonReporter: { fileName: `${folder}/${name}.json` },
}
