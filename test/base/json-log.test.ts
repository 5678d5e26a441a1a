import { expect, jest, test } from '@jest/globals'
import { jsonLog, type Log } from '#shared/platform/base/log.ts'

/** Returns what is written to standard output. */
function outputOf(write: (log: Log) => void, environment: NodeJS.ProcessEnv = {}): string {
  const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true)
  write(jsonLog('commerce-api', environment))
  const output = stdout.mock.calls.map(([text]) => String(text)).join('')
  stdout.mockRestore()
  return output
}

const published = (log: Log) => log.relay({ code: 'EVENTS_PUBLISHED', published: 2, failed: 0 })

test('a record is one line of JSON', () => {
  expect(outputOf(published)).toMatch(/^\{.*\}\n$/)
})

test('a line has its level, message, time and service before its own members', () => {
  const { timestamp, ...line } = JSON.parse(outputOf(published))
  expect(line).toEqual({
    level: 'INFO',
    message: 'relay',
    service: 'commerce-api',
    code: 'EVENTS_PUBLISHED',
    published: 2,
    failed: 0,
  })
  expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000)
})

test('a failure has the level ERROR', () => {
  const line = outputOf((log) => log.relay({ code: 'EVENTS_NOT_PUBLISHED', published: 0, failed: 1 }))
  expect(JSON.parse(line).level).toBe('ERROR')
})

test('a line names the trace of its invocation', () => {
  const environment = { _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abc;Sampled=1' }
  const line = outputOf(published, environment)
  expect(JSON.parse(line).xray_trace_id).toBe('1-5759e988-bd862e3fe1be46a994272793')
})
