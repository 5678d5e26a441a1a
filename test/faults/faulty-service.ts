import { afterAll, afterEach, expect } from '@jest/globals'
import { dynamodbClient } from '#shared/platform/aws/dynamodb-table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type MovableClock, movableClock, movableSystemClock } from '#test/support/clocks.ts'
import { runsAll } from '#test/support/runs.ts'
import { type Answer, type Service, type ServiceOptions, startService } from '#test/support/service.ts'
import { shortTimeoutSettings } from '#test/support/settings.ts'
import { startDynamodbProxy } from './dynamodb-proxy.ts'
import { type Fault, FaultPlans, type Faults, type Injection } from './faults.ts'
import { faultyTransit } from './memory-faults.ts'

interface FaultyService extends Service {
  clock: MovableClock
  faults: Faults
  /** Fails the call after this many calls (0: the next), and `times` calls in total. */
  inject(fault: Fault, afterCalls?: number, times?: number): Injection
  /**
   * Ends all faults. After throttles, ten seconds pass: clients wait for Retry-After, and then the process sheds no more
   * calls. No lease expires.
   */
  endFaults(injected?: unknown): void
  /** Starts the service with other settings on the same table, with the same clock and faults. */
  likewise(settings: Settings): Promise<Service>
  stop(): Promise<void>
}

interface FaultyServiceOptions extends Omit<ServiceOptions, 'clock' | 'client' | 'transit'> {
  clock?: MovableClock
}

/**
 * Starts the service on a table whose calls can fail: in memory, and with `TESTS=all` on DynamoDB Local, where the faults
 * are injected into the connection of the production client. Delays take no time.
 */
export async function startFaultyService(options: FaultyServiceOptions): Promise<FaultyService> {
  const { start, clock, faults, stop } = await (runsAll ? onWire : inMemory)(options)
  const service = await start(options)
  return {
    ...service,
    clock,
    faults,
    inject(fault, afterCalls = 0, times = 1) {
      const from = faults.calls.length + afterCalls
      return faults.inject({ when: ({ index }) => index >= from, times, fault })
    },
    endFaults(injected) {
      faults.reset()
      if (injected === 'throttle') clock.advance(10_000)
    },
    likewise: (settings) => start({ settings, tableName: service.tableName }),
    stop,
  }
}

async function inMemory({ clock = movableClock() }: FaultyServiceOptions) {
  const faults = new FaultPlans()
  const transit = faultyTransit(faults, clock)
  const start = (options: ServiceOptions) =>
    startService({ settings: shortTimeoutSettings, ...options, clock, transit })
  return { start, clock, faults, async stop() {} }
}

async function onWire({ clock = movableSystemClock() }: FaultyServiceOptions) {
  const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  })
  const client = dynamodbClient()
  return {
    start: (options: ServiceOptions) =>
      startService({ settings: shortTimeoutSettings, ...options, client, clock }),
    clock,
    faults: proxy,
    async stop() {
      client.destroy()
      await proxy.stop()
    },
  }
}

/** Starts such a service for a test file: faults end after each test, and the service after all tests. */
export async function useFaultyService(options: FaultyServiceOptions = {}): Promise<FaultyService> {
  const service = await startFaultyService(options)
  afterEach(() => service.faults.reset())
  afterAll(() => service.stop())
  return service
}

/** Expects a retryable failure in the envelope, with the headers of its status. */
export function expectRetryable({ status, headers, json }: Answer): void {
  const code = status === 503 ? 'DEPENDENCY.unavailable' : 'DEPENDENCY.timeout'
  expect({ status, body: json }).toMatchObject({
    status: status === 503 ? 503 : 504,
    body: {
      error: {
        code,
        message_id: `error.${code.toLowerCase()}`,
        http: status,
        retryable: true,
        correlation_id: headers['X-Correlation-Id'],
        details: {},
      },
    },
  })
  if (status === 503) expect(headers['Retry-After']).toMatch(/^[1-9]\d*$/)
  expect(headers).not.toHaveProperty('Idempotency-Status')
}
