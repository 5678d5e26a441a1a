import { afterAll, afterEach, expect } from '@jest/globals'
import { dynamodbClient } from '#shared/platform/aws/dynamodb-table.ts'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { asRecord, type IdempotencyRecord } from '#shared/platform/idempotency/record.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { type Answer, type Service, type ServiceOptions, startService } from '#test/support/service.ts'
import { type DynamodbProxy, type Fault, type Injection, startDynamodbProxy } from './dynamodb-proxy.ts'

export interface FaultyService extends Service {
  proxy: DynamodbProxy
  /** Fails the call after this many calls (0: the next), and `times` calls in total. */
  strike(fault: Fault, afterCalls?: number, times?: number): Injection
  /** Returns all idempotency records of the table. */
  records(): Promise<IdempotencyRecord[]>
  stop(): Promise<void>
}

/** The system clock with a fixed jitter: 0 for no delay between attempts, almost 1 for the longest. */
export function clockWithJitter(jitter: number): Clock {
  return { ...systemClock, jitter: () => jitter }
}

/** The system clock plus an offset in milliseconds, with a fixed jitter. */
export function clockWithOffset(): Clock & { passed: number } {
  return {
    ...clockWithJitter(0),
    passed: 0,
    now() {
      return Date.now() + this.passed
    },
  }
}

/** Starts the service with the production client, connected to a proxy for DynamoDB Local. */
export async function startFaultyService(options: ServiceOptions = {}): Promise<FaultyService> {
  const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  })
  const client = dynamodbClient()
  const service = await startService({ client, ...options })
  return {
    ...service,
    proxy,
    strike(fault, afterCalls = 0, times = 1) {
      const from = proxy.calls.length + afterCalls
      return proxy.inject({ when: ({ index }) => index >= from, times, fault })
    },
    async records() {
      const items = await itemsOf(service.tableName)
      return items.filter(({ pk }) => pk.startsWith('idempotency#')).map(asRecord)
    },
    async stop() {
      client.destroy()
      await proxy.stop()
    },
  }
}

/** Starts such a service for a test file: faults end after each test, and the service after all tests. */
export async function useFaultyService(options: ServiceOptions = {}): Promise<FaultyService> {
  const service = await startFaultyService(options)
  afterEach(() => service.proxy.reset())
  afterAll(() => service.stop())
  return service
}

/** Expects a retryable failure in the envelope, with the headers of its status. */
export function expectRetryable({ status, headers, json }: Answer): void {
  const code = status === 503 ? 'DEPENDENCY.unavailable' : 'DEPENDENCY.timeout'
  expect({ status, body: json }).toEqual({
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
