import { describe, expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { checkConcurrency } from '#lib/check-concurrency.ts'
import { functionEntries, pascalCase, unknownRoute } from '#lib/function-entries.ts'
import { stageNamed } from '#lib/stage.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { type Resource, resourcesOf, synthesise } from './synthesis.ts'
import type { Template } from './template.ts'

interface Throttle {
  ResourcePath: string
  HttpMethod: string
}

const syntheses = { staging: await synthesise('staging'), prod: await synthesise('prod') }
const { template: local } = await synthesise('local')
const queued = subscriptions.filter(({ source }) => typeof source === 'object' && 'queue' in source)
const streamed = subscriptions.filter(({ source }) => typeof source === 'object' && 'stream' in source)
/** They call partners that may hang, or work for seconds. */
const slow = [
  'refunds.create',
  'login.sign-in',
  'login.add-claims',
  'codes.export',
  'codes.import',
  'imports.create',
]
const background = [...queued, ...streamed, ...steps.filter(({ step }) => step !== 'fail'), unknownRoute]
const limited = [...slow, ...background.map(({ name }) => name)]

/** The functions of all stacks with a reservation, by the start of their logical ids. */
function reservations(stacks: readonly Template[]): [string, number][] {
  return stacks
    .flatMap((template) => resourcesOf(template, 'AWS::Lambda::Function'))
    .flatMap(([id, { Properties }]): [string, number][] =>
      Properties.ReservedConcurrentExecutions === undefined
        ? []
        : [[id.replace(/[0-9A-F]{8}$/, ''), Properties.ReservedConcurrentExecutions]],
    )
}

describe.each(Object.entries(syntheses))('on %s', (stage, { template, stacks, settings }) => {
  const reserved = new Map(reservations(Object.values(stacks)))
  const reservedFor = (name: string) => reserved.get(pascalCase(name))

  test.each(limited)('%s has reserved concurrency as its limit', (name) => {
    expect(reservedFor(name)).toBeGreaterThanOrEqual(2)
  })

  test('no other function is limited', () => {
    expect([...reserved.keys()].sort()).toEqual(limited.map(pascalCase).sort())
  })

  test.each(queued)('$name receives no more messages than it can handle concurrently', ({ name }) => {
    expect(mappingsOf(template, name).map(({ ScalingConfig }) => ScalingConfig)).toEqual([
      { MaximumConcurrency: reservedFor(name) },
    ])
  })

  test.each(streamed)('$name has a slot for each batch of the four shards of a new table', ({ name }) => {
    const [mapping] = mappingsOf(template, name)
    expect(mapping?.ParallelizationFactor).toBe(10)
    expect(reservedFor(name)).toBeGreaterThanOrEqual(4 * mapping?.ParallelizationFactor)
  })

  test('the gateway passes no more requests of unknown routes per second than there are slots', () => {
    const [[, { Properties: stage }]] = resourcesOf(template, 'AWS::ApiGateway::Stage') as [
      [string, Resource],
    ]
    const slots = reservedFor(unknownRoute.name)
    const verbs = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
    for (const path of ['/', '/~1{proxy+}']) {
      const throttles = stage.MethodSettings.filter(({ ResourcePath }: Throttle) => ResourcePath === path)
      expect(throttles.map(({ HttpMethod }: Throttle) => HttpMethod)).toEqual(verbs)
      for (const throttle of throttles) {
        expect(throttle).toMatchObject({ ThrottlingRateLimit: slots, ThrottlingBurstLimit: slots })
        expect(throttle.MetricsEnabled).toBe(false)
      }
    }
  })

  test('the gateway passes no more logins than there are slots, so strangers get 429 and no 503', () => {
    const { requestsPerSecond = 0, burst = 0 } = settings['limits.gateway'].byOperation['login.sign-in'] ?? {}
    const seconds = settings['login.refusalMilliseconds'] / 1000
    expect(burst + requestsPerSecond * seconds).toBeLessThanOrEqual(reservedFor('login.sign-in') ?? 0)
  })

  test('the reservations are those that are checked against the quota', () => {
    const { concurrency = {} } = stageNamed(stage)
    expect(Object.keys(functionEntries())).toEqual(expect.arrayContaining(Object.keys(concurrency)))
    expect([...reserved].sort()).toEqual(
      Object.entries(concurrency)
        .map(([name, slots]) => [pascalCase(name), slots])
        .sort(),
    )
  })

  test('the shipped profile is accepted', () => {
    expect(problemsOf(stage)).toEqual([])
  })
})

describe('a profile is refused', () => {
  test('if AWS could not keep 100 executions for functions without a reservation', () => {
    const reserved = Object.values(stageNamed('prod').concurrency ?? {}).reduce((sum, one) => sum + one, 0)
    expect(problemsOf('prod', { 'limits.concurrency': reserved + 100 })).toEqual([])
    expect(problemsOf('prod', { 'limits.concurrency': reserved + 99 })).toEqual([
      `  limits.concurrency: ${reserved + 99} is too small. Stage prod reserves ${reserved} concurrent executions, and AWS keeps 100 for functions without a reservation: ask for a quota of at least ${reserved + 100}`,
    ])
  })

  test('if one tenant could hold more than a quarter of the slots that prepare or end imports', () => {
    const many = { 'imports.inProgressPerTenant': 6, 'imports.chunksAtOnce': 1 }
    expect(problemsOf('prod', { ...many, 'imports.writeUnitsPerSecond': 10_000 })).toEqual([
      '  imports.inProgressPerTenant: one tenant could hold 6 of the 20 slots of imports.prepare: choose at most 5',
      '  imports.inProgressPerTenant: one tenant could hold 6 of the 20 slots of imports.complete: choose at most 5',
    ])
  })

  test('if one tenant could hold more than a quarter of the slots for rows', () => {
    expect(problemsOf('prod', { 'imports.chunksAtOnce': 6 })).toEqual([
      '  imports.inProgressPerTenant × imports.chunksAtOnce: one tenant could hold 30 of the 100 slots of imports.rows: choose at most 25',
    ])
  })

  test('if imports of the largest file in all slots would not end in half of their time', () => {
    const slow = { 'imports.writeUnitsPerSecond': 1000, 'imports.maxRows': 597_600 }
    expect(problemsOf('prod', { ...slow, 'imports.timeoutSeconds': 28_000 })).toEqual([])
    expect(problemsOf('prod', { ...slow, 'imports.timeoutSeconds': 27_999 })).toEqual([
      '  imports.timeoutSeconds: 20 imports of the largest file hold the 100 slots of imports.rows: choose at least 28000, or more imports.writeUnitsPerSecond',
    ])
  })

  test('if the slow calls of one tenant could hold more than a tenth of the senders', () => {
    const slow = (perTenant: number) => ({
      'deliveries.slowCalls': { perTenant, afterMilliseconds: 1000 },
    })
    expect(problemsOf('staging', slow(5))).toEqual([])
    expect(problemsOf('staging', slow(6))).toEqual([
      '  deliveries.slowCalls: slow calls of one tenant could hold 6 of the 50 processes of deliveries.send: choose at most 5',
    ])
  })

  test('on no stage that reserves nothing', () => {
    const greedy = {
      'limits.concurrency': 1,
      'imports.inProgressPerTenant': 1000,
      'imports.writeUnitsPerSecond': 1,
    }
    expect([problemsOf('local', greedy), problemsOf('dev', greedy)]).toEqual([[], []])
  })
})

test('imports.chunksAtOnce is the number of chunks that the workflow of an import processes at once', async () => {
  const [shipped, other] = await Promise.all([
    synthesise('prod'),
    synthesise('prod', { changes: { 'imports.chunksAtOnce': 3 } }),
  ])
  const concurrencies = [shipped, other].map(
    ({ template }) =>
      /"MaxConcurrency\\*":(\d+)/.exec(
        JSON.stringify(resourcesOf(template, 'AWS::StepFunctions::StateMachine')),
      )?.[1],
  )
  expect(concurrencies).toEqual([String(localSettings['imports.chunksAtOnce']), '3'])
})

test('the local stage reserves nothing', () => {
  expect(JSON.stringify(local)).not.toMatch(/ReservedConcurrentExecutions|MaximumConcurrency/)
})

function mappingsOf(template: Template, name: string): Resource['Properties'][] {
  return resourcesOf(template, 'AWS::Lambda::EventSourceMapping')
    .map(([, { Properties }]) => Properties)
    .filter(({ FunctionName }) => JSON.stringify(FunctionName).includes(`"${pascalCase(name)}Live`))
}

/** Returns the problems of the shipped profile with changes, as they are printed. */
function problemsOf(stage: string, changes: Partial<Settings> = {}): string[] {
  const settings = { ...localSettings, ...changes }
  const thrown = thrownBy(() => checkConcurrency(stageNamed(stage), settings, 'p.json'))
  return thrown instanceof ProfileError ? thrown.message.split('\n').slice(1) : []
}
