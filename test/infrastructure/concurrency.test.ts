import { describe, expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { checkConcurrency } from '#lib/checks/check-concurrency.ts'
import { entryPoints, pascalCase, unknownRoute } from '#lib/functions/function-names.ts'
import { reservedConcurrency, stageNamed } from '#lib/stage.ts'
import { refusalMilliseconds } from '#shared/login/sign-in.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { naming } from '#test/support/naming.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

interface Throttle {
  ResourcePath: string
  HttpMethod: string
}

const stages = { staging: await templatesOf('staging'), prod: await templatesOf('prod') }
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
const background = [...queued, ...streamed, ...steps, unknownRoute]
const limited = [...slow, ...background.map(({ name }) => name)]

describe.each(Object.entries(stages))('on %s', (stage, { template, settings }) => {
  const reserved = new Map(
    resourcesOf(template, 'AWS::Lambda::Function').flatMap(([id, { Properties }]): [string, number][] =>
      Properties.ReservedConcurrentExecutions === undefined
        ? []
        : [[id, Properties.ReservedConcurrentExecutions]],
    ),
  )
  const reservedFor = (name: string) => reserved.get(pascalCase(name))

  test.each(limited)('%s has reserved concurrency as its limit', (name) => {
    expect(reservedFor(name)).toBeGreaterThanOrEqual(2)
  })

  test('no other function is limited', () => {
    expect([...reserved.keys()].sort()).toEqual(limited.map(pascalCase).sort())
  })

  test.each(queued)('$name receives no more messages than it can handle concurrently', ({ name }) => {
    expect(propertiesOf(template, `${pascalCase(name)}Queue`).ScalingConfig).toEqual({
      MaximumConcurrency: reservedFor(name),
    })
  })

  test.each(streamed)('$name has a slot for each batch of the four shards of a new table', ({ name }) => {
    const { ParallelizationFactor } = propertiesOf(template, `${pascalCase(name)}TableStream`)
    expect(ParallelizationFactor).toBe(10)
    expect(reservedFor(name)).toBeGreaterThanOrEqual(4 * ParallelizationFactor)
  })

  test('the gateway passes no more requests of unknown routes per second than there are slots', () => {
    const { MethodSettings } = propertiesOf(template, `ApiDeploymentStage${stage}`)
    const slots = reservedFor(unknownRoute.name)
    const verbs = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
    for (const path of ['/', '/~1{proxy+}']) {
      const throttles = MethodSettings.filter(({ ResourcePath }: Throttle) => ResourcePath === path)
      expect(throttles.map(({ HttpMethod }: Throttle) => HttpMethod)).toEqual(verbs)
      for (const throttle of throttles) {
        expect(throttle).toMatchObject({ ThrottlingRateLimit: slots, ThrottlingBurstLimit: slots })
        expect(throttle.MetricsEnabled).toBe(false)
      }
    }
  })

  test('the gateway passes no more logins than there are slots, so strangers get 429 and no 503', () => {
    const { requestsPerSecond = 0, burst = 0 } = settings['limits.gateway'].byOperation['login.sign-in'] ?? {}
    const seconds = refusalMilliseconds / 1000
    expect(burst + requestsPerSecond * seconds).toBeLessThanOrEqual(reservedFor('login.sign-in') ?? 0)
  })

  test('the reservations are those that are checked against the quota', () => {
    const concurrency = reservedConcurrency(stageNamed(stage), settings) ?? {}
    expect(Object.keys(entryPoints())).toEqual(expect.arrayContaining(Object.keys(concurrency)))
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
  const concurrency = reservedConcurrency(stageNamed('prod'), localSettings) ?? {}
  const reserved = Object.values(concurrency).reduce((sum, one) => sum + one, 0)
  const large = { 'imports.maxRows': 1_697_600 }

  test.each<[string, string, Partial<Settings>, Partial<Settings>, ...string[]]>([
    [
      'AWS could not keep 100 executions for functions without a reservation',
      'prod',
      { 'limits.concurrency': reserved + 100 },
      { 'limits.concurrency': reserved + 99 },
      `limits.concurrency … ${reserved + 99} … prod … ${reserved} … 100 … ${reserved + 100}`,
    ],
    [
      'one tenant could hold more than a quarter of the slots of a step of imports',
      'prod',
      { 'imports.inProgressPerTenant': 5 },
      { 'imports.inProgressPerTenant': 6 },
      'imports.inProgressPerTenant … 6 … imports.prepare … 5',
      'imports.inProgressPerTenant … 6 … imports.end … 5',
      'imports.inProgressPerTenant … 30 … imports.rows … 5',
    ],
    [
      'imports of the largest file in all slots would not end in half of their time',
      'prod',
      { 'imports.writeUnitsPerSecond': 1667, ...large },
      { 'imports.writeUnitsPerSecond': 1666, ...large },
      'imports.writeUnitsPerSecond … imports.rows … 1667 … imports.maxRows',
    ],
  ])('if %s', (_, stage, good, bad, ...problems) => {
    expect(problemsOf(stage, good)).toEqual([])
    expect(problemsOf(stage, bad)).toEqual(problems.map((one) => expect.stringMatching(naming(one))))
  })

  test.each(['local', 'dev'])('not on %s, which reserves nothing', (stage) => {
    const greedy = { 'imports.inProgressPerTenant': 1000, 'imports.writeUnitsPerSecond': 1 }
    expect(problemsOf(stage, { 'limits.concurrency': 1, ...greedy })).toEqual([])
  })
})

test('the local stage reserves nothing', async () => {
  const { template: local } = await templatesOf('local')
  expect(JSON.stringify(local)).not.toMatch(/ReservedConcurrentExecutions|MaximumConcurrency/)
})

/** Returns the problems of the shipped profile with changes, as they are printed. */
function problemsOf(stage: string, changes: Partial<Settings> = {}): string[] {
  const settings = { ...localSettings, ...changes }
  const thrown = thrownBy(() => checkConcurrency(stageNamed(stage), settings, 'p.json'))
  return thrown instanceof ProfileError ? thrown.message.split('\n').slice(1) : []
}
