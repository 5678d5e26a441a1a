import { describe, expect, jest, test } from '@jest/globals'
import * as v from 'valibot'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { describeFault } from '#shared/platform/base/failure.ts'
import { jsonLog, type Log } from '#shared/platform/base/log.ts'

const published = (log: Log) => log.relay({ code: 'EVENTS_PUBLISHED', published: 2, failed: 0 })

describe.each([
  ['jsonLog', jsonLog],
  ['powertoolsLog', powertoolsLog],
])('%s', (_, create) => {
  /** Returns what is written to both standard streams. */
  function outputOf(write: (log: Log) => void): string {
    const streams = [process.stdout, process.stderr].map((one) =>
      jest.spyOn(one, 'write').mockReturnValue(true),
    )
    write(create('commerce-api', process.env))
    const written = streams.flatMap(({ mock }) => mock.calls)
    for (const stream of streams) stream.mockRestore()
    return written.map(([text]) => String(text)).join('')
  }

  test('writes a record as one line of JSON', () => {
    expect(outputOf(published)).toMatch(/^\{.*\}\n$/)
  })

  test('writes the level, the message, the time and the service with the members of a record', () => {
    const { timestamp, ...line } = JSON.parse(outputOf(published))
    expect(line).toMatchObject({
      level: 'INFO',
      message: 'relay',
      service: 'commerce-api',
      code: 'EVENTS_PUBLISHED',
      published: 2,
      failed: 0,
    })
    expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000)
  })

  test('writes a failure with the level ERROR', () => {
    const line = outputOf((log) => log.relay({ code: 'EVENTS_NOT_PUBLISHED', published: 0, failed: 1 }))
    expect(JSON.parse(line).level).toBe('ERROR')
  })

  test('names the subscriber that an alarm is about, and its tenant', () => {
    const about = { tenant: 'acme', subscriber: 'sub-1' }
    const line = outputOf((log) => log.alert('SUBSCRIBER_DISABLED', { id: 'corr-1', trace: {} }, about))
    expect(JSON.parse(line)).toMatchObject({ code: 'SUBSCRIBER_DISABLED', ...about })
  })

  test('names the trace of an invocation', () => {
    process.env._X_AMZN_TRACE_ID = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abc;Sampled=1'
    const line = outputOf(published)
    delete process.env._X_AMZN_TRACE_ID
    expect(JSON.parse(line).xray_trace_id).toBe('1-5759e988-bd862e3fe1be46a994272793')
  })
})

describe('the message of a fault', () => {
  const thrownBy = (work: () => unknown): unknown => {
    try {
      work()
    } catch (thrown) {
      return thrown
    }
    throw new Error('nothing was thrown')
  }
  const absent = undefined as unknown as { lines: { length: number } }

  test('is logged if it only names members of the code', () => {
    expect(describeFault(thrownBy(() => absent.lines))).toMatchObject({
      message: "Cannot read properties of undefined (reading 'lines')",
    })
  })

  test('names the fields and the rules of an invalid value, without the value', () => {
    const schema = v.object({ cart: v.object({ amount: v.number() }) })
    const fault = thrownBy(() => v.parse(schema, { cart: { amount: 'jane@example.com' } }))
    expect(describeFault(fault)?.message).toBe('cart.amount: number')
  })

  test.each([
    ['of a parser', () => JSON.parse('jane@example.com')],
    ['of a parser of lines like those of a stack', () => JSON.parse('\n  at jane@example.com')],
    ['of an assignment to a text', () => Object.assign('jane@example.com', { 0: 1 })],
    ['of a search in a text', () => 'a' in ('jane@example.com' as unknown as object)],
  ])('is not logged if it may quote a value, such as that %s', (_, work) => {
    const description = describeFault(thrownBy(work))
    expect(description).not.toHaveProperty('message')
    expect(description?.at[0]).toMatch(/^at /)
    expect(JSON.stringify(description)).not.toContain('jane')
  })
})
