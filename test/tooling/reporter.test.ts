import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { slowestFiles, totals } from './reporter.ts'

/** The beginning of jest's warning. */
const openHandles = 'Jest did not exit one second after'
const root = join(import.meta.dirname, '../..')
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reporter-'))
  await writeFile(
    join(folder, 'jest.config.json'),
    JSON.stringify({ reporters: ['default', join(root, 'test/tooling/reporter.ts')], maxWorkers: 2 }),
  )
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs jest on the files. Returns its exit code and the last line of stdout and stderr together. */
async function lastLine(files: Record<string, string>, ...options: string[]) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const output = openSync(join(folder, 'output'), 'w')
  const jest = join(root, 'node_modules/jest/bin/jest.js')
  const child = spawn(process.execPath, [jest, '--config', join(folder, 'jest.config.json'), ...options], {
    cwd: folder,
    stdio: ['pipe', output, output],
  })
  const closed = once(child, 'close')
  const printed = () => readFile(join(folder, 'output'), 'utf8')
  // A test that reads its input keeps the process alive until then.
  while (child.exitCode === null && !(await printed()).includes(openHandles)) await sleep(50)
  child.stdin?.end()
  const [code] = await closed
  const text = await printed()
  return { code, line: text.split('\n').slice(-2), text }
}

describe('the last line of a run', () => {
  test('contains the totals, after all output of jest and its workers', async () => {
    const run = await lastLine({
      'a.test.js': `
        test('passes', () => { console.log('noise'); process.stdout.write('raw') })
        test('fails', () => { console.error('more noise'); expect(1).toBe(2) })
        test.skip('is skipped', () => {})
        test.todo('is to do')`,
      'b.test.js': `process.stderr.write('raw'); test('passes', () => {})`,
      'broken.test.js': `throw new Error('this suite cannot run')`,
    })
    expect(run.text).toContain('Ran all test suites.')
    expect(run.line).toEqual(['2 passed, 2 failed, 2 skipped', ''])
    expect(run.code).toBe(1)
  })

  test('follows the warning about open handles and the coverage', async () => {
    const leaking = { 'a.test.js': `test('leaks', () => { process.stdin.resume() })` }
    const run = await lastLine(leaking, '--runInBand', '--coverage')
    expect(run.text).toContain(openHandles)
    expect(run.line).toEqual(['1 passed, 0 failed', ''])
    expect(run.code).toBe(0)
  })
})

test('names skipped tests only if there are any', () => {
  const results = { numPassedTests: 3, numFailedTests: 0, numRuntimeErrorTestSuites: 0 }
  expect(totals({ ...results, numPendingTests: 0, numTodoTests: 0 })).toBe('3 passed, 0 failed')
  expect(totals({ ...results, numPendingTests: 1, numTodoTests: 1 })).toBe('3 passed, 0 failed, 2 skipped')
})

test('lists the ten slowest files, the slowest first', () => {
  const testResults = Array.from({ length: 12 }, (_, n) => ({
    testFilePath: join(process.cwd(), `test/${n}.test.ts`),
    perfStats: { runtime: n * 1000 },
  }))
  const lines = slowestFiles({ testResults })
  expect(lines).toHaveLength(10)
  expect(lines[0]).toBe('   11.0 s  test/11.test.ts')
})
