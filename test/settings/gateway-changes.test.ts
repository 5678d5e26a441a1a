import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { resourcesOf, synthesise, type Template } from '#test/infrastructure/synthesis.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

/** The template of a stage with the settings of this test, synthesized once for each profile. */
async function templateOf(settings: Settings) {
  const changed = ['limits.gateway', 'events.maxAttempts'] as const
  const changes = Object.fromEntries(changed.map((key) => [key, settings[key]]))
  return (await synthesise('prod', { changes })).template
}

const [local, other] = [await templateOf(localSettings), await templateOf(otherSettings)]

/** What the gateway lets through, by method and path. */
function throttlesOf(template: Template): Record<string, unknown> {
  const [stage] = resourcesOf(template, 'AWS::ApiGateway::Stage')
  const all: Record<string, unknown>[] = stage?.[1].Properties.MethodSettings
  return Object.fromEntries(
    all.map(({ HttpMethod, ResourcePath, ThrottlingRateLimit, ThrottlingBurstLimit, ...rest }) => {
      // A method that is throttled apart keeps none of what the others are told.
      expect(rest).toEqual({ MetricsEnabled: true, LoggingLevel: 'ERROR', DataTraceEnabled: false })
      return [`${HttpMethod} ${ResourcePath}`, [ThrottlingRateLimit, ThrottlingBurstLimit]]
    }),
  )
}

describe('limits.gateway', () => {
  test('throttles all operations, and those apart that it names', () => {
    expect(throttlesOf(local)).toEqual({
      '* /*': [500, 1000],
      'GET /~1codes:export': [20, 40],
      'HEAD /~1codes:export': [20, 40],
      'POST /~1codes:import': [20, 40],
      'POST /~1login': [100, 200],
    })
    expect(throttlesOf(other)).toEqual({
      '* /*': [50, 100],
      'GET /~1health': [5, 10],
      'HEAD /~1health': [5, 10],
    })
  })

  test.each([
    ['orders.make', /limits\.gateway: there is no operation orders\.make/],
    ['codes.restore', /limits\.gateway: the gateway cannot tell codes\.restore and codes\.share apart/],
  ])('that names %s alone is refused', (operation, message) => {
    const settings = throttling(operation)
    expect(() => checkOperations(settings, routes, 'p.json')).toThrow(ProfileError)
    expect(() => checkOperations(settings, routes, 'p.json')).toThrow(message)
  })

  test('takes operations that share a method, if both are throttled alike', () => {
    expect(() => checkOperations(throttling('codes.restore', 'codes.share'), routes, 'p.json')).not.toThrow()
  })
})

test('events.maxAttempts limits the attempts of both functions that read the stream', () => {
  const retriesOf = (template: Template) =>
    resourcesOf(template, 'AWS::Lambda::EventSourceMapping').flatMap(
      ([, { Properties }]) => Properties.MaximumRetryAttempts ?? [],
    )
  expect([retriesOf(local), retriesOf(other)]).toEqual([
    [29, 29],
    [6, 6],
  ])
})

function throttling(...operations: string[]): Settings {
  const byOperation = Object.fromEntries(operations.map((one) => [one, { requestsPerSecond: 1, burst: 2 }]))
  const limits = { ...localSettings['limits.gateway'], byOperation }
  return readProfile({ ...localSettings, 'limits.gateway': limits }, 'the profile of this test')
}
