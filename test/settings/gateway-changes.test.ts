import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { ProfileError, readProfile } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { resourcesOf, synthesise } from '#test/infrastructure/synthesis.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

/** What the gateway lets through, by method and path. */
async function throttlesOf(settings: Settings): Promise<Record<string, unknown>> {
  const { template } = await synthesise('prod', { changes: { 'limits.gateway': settings['limits.gateway'] } })
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
  test('throttles all operations, and those apart that it names', async () => {
    expect(await throttlesOf(localSettings)).toEqual({
      '* /*': [500, 1000],
      'GET /~1codes:export': [20, 40],
      'HEAD /~1codes:export': [20, 40],
      'POST /~1codes:import': [20, 40],
      'POST /~1login': [100, 200],
    })
    expect(await throttlesOf(otherSettings)).toEqual({
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

function throttling(...operations: string[]): Settings {
  const byOperation = Object.fromEntries(operations.map((one) => [one, { requestsPerSecond: 1, burst: 2 }]))
  const limits = { ...localSettings['limits.gateway'], byOperation }
  return readProfile({ ...localSettings, 'limits.gateway': limits }, 'the profile of this test')
}
