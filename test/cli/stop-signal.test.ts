import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const file = new URL('../../bin/cli/stop-signal.ts', import.meta.url).href

/** Sends a signal to a process at these times, in milliseconds. Returns what it printed, and its exit code. */
async function signals(signal: NodeJS.Signals, ...times: number[]): Promise<[output: string, code: number]> {
  const script = `
    import { onStopSignal } from ${JSON.stringify(file)}
    let now = 0
    performance.now = () => now
    onStopSignal(() => console.log('stop'))
    const alive = setInterval(() => {}, 1000)
    for (now of ${JSON.stringify(times)}) {
      const received = new Promise((done) => process.once('${signal}', done))
      process.kill(process.pid, '${signal}')
      await received
    }
    clearInterval(alive)`
  return promisify(execFile)('node', ['--input-type=module', '--eval', script]).then(
    ({ stdout }) => [stdout, 0],
    ({ stdout, code }) => [stdout, code],
  )
}

test('a signal that npm repeats stops once', async () => {
  expect(await signals('SIGINT', 0, 5)).toEqual(['stop\n', 0])
})

test('a second signal ends the process', async () => {
  expect(await signals('SIGINT', 0, 5, 1500)).toEqual(['stop\n', 130])
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s stops', async (signal) => {
  expect(await signals(signal, 0)).toEqual(['stop\n', 0])
})
