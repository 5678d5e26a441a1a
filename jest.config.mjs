import './bin/node-version.mjs'

/**
 * Campaigns take minutes each: processes killed at each step, the whole deployed stack, audits of the templates. They run
 * if the command names one. `TESTS=ci` adds those of `test/end-to-end`: what a change can break. `TESTS=all` runs every
 * test, with many times as many random runs.
 */
const campaigns = '\\.campaign\\.test\\.ts$'
const leftOut = {
  ci: [`/test/(?!end-to-end/).*${campaigns}`],
  all: [],
}
const named = process.argv.slice(2).some((word) => word.includes('campaign'))

/** Jest on native ES modules: `npm test`, or `npx jest test/orders`. The flag that Node needs for it is set in .npmrc. */
export default {
  // Only the source folders are crawled: what a deployment builds next to them holds copies of package names.
  roots: ['bin', 'client', 'functions', 'lib', 'shared', 'test'].map((folder) => `<rootDir>/${folder}`),
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(leftOut[process.env.TESTS] ?? (named ? [] : [campaigns]))],
  testEnvironment: '<rootDir>/test/tooling/environment.ts',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        // Types are stripped and nothing else, as Node itself does it: an import that is not `import type` stays.
        jsc: {
          parser: { syntax: 'typescript' },
          target: 'es2024',
          transform: { verbatimModuleSyntax: true },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  transformIgnorePatterns: ['/node_modules/'],
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  setupFiles: ['<rootDir>/test/tooling/error-realm.ts'],
  globalSetup: '<rootDir>/test/tooling/global-setup.mjs',
  globalTeardown: '<rootDir>/test/tooling/global-teardown.mjs',
  testSequencer: '<rootDir>/test/tooling/longest-first.ts',
  // Ours stands last, so that its line of totals is the last one printed.
  reporters: ['default', '<rootDir>/test/tooling/reporter.ts'],
  // It only ends a test that hangs: none depends on the speed of the machine.
  testTimeout: 900_000,
  maxWorkers: 4,
}
