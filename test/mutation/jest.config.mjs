import { join } from 'node:path'
import base from '../../jest.config.mjs'
import { currentArea } from './areas.ts'

const { globalSetup, globalTeardown, reporters, ...shared } = base

/** Runs the tests of one area, without the servers that the whole suite shares. */
export default {
  ...shared,
  rootDir: '../..',
  // A test that waits for something that a mutant never does.
  testTimeout: 5000,
  // Stryker loads it by its own rules, which do not know <rootDir>.
  testEnvironment: join(import.meta.dirname, 'environment.ts'),
  testSequencer: join(import.meta.dirname, 'covering-files.ts'),
  testMatch: currentArea().tests.map((path) => `<rootDir>/${path}`),
}
