import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Frozen, freeze, unfreeze } from '#bin/commands/freeze/freeze.ts'
import { functionOf, routes } from '#functions/routes.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { Freeze } from '#lib/functions/freeze.ts'
import { pascalCase } from '#lib/functions/function-names.ts'
import { naming } from '#test/support/naming.ts'
import { definedState, type FakeStack, fakeStack, type StackState } from './freezing.ts'

/** Each synthesis is a process. */
const defined = await definedState()
const kept: Record<Freeze, StackState> = {
  writes: await definedState({ freeze: 'writes' }),
  all: await definedState({ freeze: 'all' }),
}
/** The longest timeout of a function that a request, a queue or a schedule invokes, in seconds. */
const longestCall = 30
/** That of a step of an import. */
const longestStep = 845

let aws: FakeStack
beforeEach(async () => {
  aws = await fakeStack()
})
afterEach(() => aws.stop())

const run = (mode: Freeze): Promise<Frozen> => freeze(aws.stack, { mode, baseUrl: aws.baseUrl })
const state = (): StackState => ({
  concurrency: { ...aws.concurrency },
  provisioned: { ...aws.provisioned },
  mappings: { ...aws.mappings },
  schedules: { ...aws.schedules },
})
const idOf = (ids: object, start: string) => Object.keys(ids).find((id) => id.startsWith(start)) ?? start
/** Returns the sorted logical ids without their hashes. */
const enabledOf = (ids: Record<string, boolean>) =>
  Object.keys(ids)
    .flatMap((id) => (ids[id] ? [id.replace(/[0-9A-F]{8}$/, '')] : []))
    .sort()
const withoutHashes = (values: Record<string, number>) =>
  Object.fromEntries(Object.entries(values).map(([id, value]) => [id.replace(/[0-9A-F]{8}$/, ''), value]))
const secondsSince = (start: number) => (aws.now() - start) / 1000

describe.each(['writes', 'all'] as const)('a freeze of %s', (mode) => {
  test('changes exactly what the template of a deployment with -c freeze keeps', async () => {
    await run(mode)
    expect(state()).toEqual(kept[mode])
  })

  test('that is repeated changes the same', async () => {
    await run(mode)
    await run(mode)
    expect(state()).toEqual(kept[mode])
  })

  test('that is ended leaves the state of the template', async () => {
    await run(mode)
    await unfreeze(aws.stack)
    expect(state()).toEqual(defined)
  })

  test('returns the time at which the longest call in flight has ended', async () => {
    const start = aws.now()
    const { time } = await run(mode)
    expect(Date.parse(time) - start).toBe(longestCall * 1000)
  })
})

describe('a freeze of writes', () => {
  const stops = (one: (typeof routes)[number]) =>
    kept.writes.concurrency[idOf(kept.writes.concurrency, pascalCase(functionOf(one).name))] === 0

  test.each(routes.filter(({ route }) => route.method !== 'GET'))('stops $route.operation', (one) => {
    expect(stops(one)).toBe(true)
  })

  test.each(routes.filter(({ route }) => route.method === 'GET'))('lets $route.operation go on', (one) => {
    expect(stops(one)).toBe(false)
  })

  test('lets the consumers of the stream go on', async () => {
    await run('writes')
    expect(enabledOf(aws.mappings)).toEqual(['EventsRelayTableStream', 'TasksEnqueueTableStream'])
  })

  test('disables every schedule but that of the probe, which writes nothing', async () => {
    await run('writes')
    expect(enabledOf(aws.schedules)).toEqual(['AddressProbeEachMinute'])
  })

  test('stops the functions of the disabled schedules, whose runs Lambda may still hold', async () => {
    for (const { name } of subscriptions.filter(({ source }) => source === 'every.minute'))
      expect([name, kept.writes.concurrency[idOf(kept.writes.concurrency, pascalCase(name))]]).toEqual([
        name,
        0,
      ])
  })

  test('keeps the rest of a schedule', async () => {
    await run('writes')
    const [id = ''] = Object.keys(defined.schedules).filter((one) => one.includes('EachMinute'))
    expect(aws.definitions[id]).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      Target: { RetryPolicy: { MaximumRetryAttempts: 0 } },
    })
  })

  test('removes the provisioned concurrency of what it stops, and of nothing else', async () => {
    await run('writes')
    expect(withoutHashes(defined.provisioned)).toEqual({
      CodesActOnCodeLive: 3,
      OrdersCreateLive: 5,
      OrdersListLive: 3,
      RefundsCreateLive: 10,
    })
    expect(withoutHashes(aws.provisioned)).toEqual({ OrdersListLive: 3 })
  })

  test('stops all other functions before it removes provisioned concurrency', async () => {
    await run('writes')
    const first = aws.changes.findIndex((change) => change.startsWith('tag '))
    const before = aws.changes.slice(0, first)
    const frozen = Object.values(kept.writes.concurrency).filter((reserved) => reserved === 0)
    // Three of the stopped functions have provisioned concurrency.
    expect(before).toHaveLength(frozen.length - 3)
    expect(before.every((change) => change.startsWith('concurrency '))).toBe(true)
  })

  test('waits until Lambda has removed provisioned concurrency', async () => {
    aws.releasing = 3
    await run('writes')
    expect(aws.releasing).toBe(0)
    expect(state()).toEqual(kept.writes)
  })

  test('stops all other functions while Lambda does not remove provisioned concurrency', async () => {
    aws.releasing = Number.POSITIVE_INFINITY
    await expect(run('writes')).rejects.toThrow(/provisioned concurrency/)
    const differing = Object.keys(kept.writes.concurrency).filter(
      (id) => aws.concurrency[id] !== kept.writes.concurrency[id],
    )
    expect(differing.map((id) => id.replace(/[0-9A-F]{8}$/, '')).sort()).toEqual([
      'CodesActOnCode',
      'OrdersCreate',
      'RefundsCreate',
    ])
  })

  test('ends the shift of requests to a new version that provisioned concurrency is bound to', async () => {
    aws.weighted.add(idOf(aws.provisioned, 'OrdersCreateLive'))
    await run('writes')
    expect([...aws.weighted]).toEqual([])
    expect(state()).toEqual(kept.writes)
  })

  test('names the running imports', async () => {
    aws.running = ['import-1', 'import-2']
    expect((await run('writes')).running_imports).toEqual(['import-1', 'import-2'])
  })

  test('waits for the steps of a running import', async () => {
    aws.running = ['import-1']
    const start = aws.now()
    await run('writes')
    expect(secondsSince(start)).toBe(longestStep)
  })

  test('waits until the gateway refuses a write', async () => {
    aws.late = 3
    const start = aws.now()
    await run('writes')
    expect(aws.late).toBe(0)
    expect(secondsSince(start)).toBeGreaterThan(longestCall)
  })

  test('fails if the gateway accepts writes for minutes', async () => {
    aws.late = Number.POSITIVE_INFINITY
    await expect(run('writes')).rejects.toThrow(/accepts requests/)
    expect(state()).toEqual(kept.writes)
  })
})

describe('a freeze of all', () => {
  test('can follow a freeze of writes, and ends with it', async () => {
    await run('writes')
    await run('all')
    expect(state()).toEqual(kept.all)
    await unfreeze(aws.stack)
    expect(state()).toEqual(defined)
  })

  test('is not followed by one of writes, which would not open reads', async () => {
    await run('all')
    await expect(run('writes')).rejects.toThrow(naming('unfreeze'))
    expect(state()).toEqual(kept.all)
  })

  test('waits until the consumers of the stream are idle', async () => {
    const relay = idOf(aws.concurrency, 'EventsRelay')
    aws.invocations[relay] = 4
    await run('all')
    expect(aws.invocations[relay]).toBe(0)
  })

  test('fails if the last batch of a consumer of the stream failed', async () => {
    aws.problems.add(idOf(aws.mappings, 'EventsRelay'))
    await expect(run('all')).rejects.toThrow('events.relay')
  })

  test('fails if a consumer of the stream is not idle within half an hour', async () => {
    aws.invocations[idOf(aws.concurrency, 'TasksEnqueue')] = Number.POSITIVE_INFINITY
    await expect(run('all')).rejects.toThrow('tasks.enqueue')
  })
})

describe('unfreeze', () => {
  test('leaves the provisioned concurrency that a deployment has set since the freeze', async () => {
    await run('all')
    const alias = idOf(defined.provisioned, 'RefundsCreateLive')
    aws.provisioned[alias] = 7
    await unfreeze(aws.stack)
    expect(aws.provisioned[alias]).toBe(7)
  })

  test('leaves disabled what was disabled before', async () => {
    const mapping = idOf(aws.mappings, 'WebhooksHandle')
    const schedule = idOf(aws.schedules, 'OperationsEndAbandoned')
    aws.mappings[mapping] = false
    aws.schedules[schedule] = false
    await run('all')
    await unfreeze(aws.stack)
    expect([aws.mappings[mapping], aws.schedules[schedule]]).toEqual([false, false])
  })

  test('enables a mapping and a schedule that a deployment has replaced', async () => {
    await run('all')
    aws.replaced.add(idOf(aws.mappings, 'WebhooksHandle')).add(idOf(aws.schedules, 'OperationsEndAbandoned'))
    await unfreeze(aws.stack)
    expect(state()).toEqual(defined)
  })

  test('after a freeze that was interrupted at any change restores the state of the template', async () => {
    await run('all')
    const { length } = aws.changes
    await unfreeze(aws.stack)
    for (let failing = 1; failing <= length; failing += 1) {
      Object.assign(aws, { changes: [], failing })
      await expect(run('all')).rejects.toThrow('interrupted')
      aws.failing = Number.POSITIVE_INFINITY
      await unfreeze(aws.stack)
      expect(state()).toEqual(defined)
    }
  })

  test('that was interrupted can be repeated', async () => {
    await run('all')
    const changes = [...aws.changes]
    for (let failing = 1; failing <= changes.length; failing += 7) {
      await run('all')
      Object.assign(aws, { changes: [], failing })
      await expect(unfreeze(aws.stack)).rejects.toThrow('interrupted')
      aws.failing = Number.POSITIVE_INFINITY
      await unfreeze(aws.stack)
      expect(state()).toEqual(defined)
    }
  })

  test('without a freeze changes no mapping and no schedule', async () => {
    expect((await unfreeze(aws.stack)).consumers).toBe(0)
    expect(state()).toEqual(defined)
  })
})
