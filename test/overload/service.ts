import { endpoint as createCode } from '#functions/codes/create-code/handler.ts'
import { endpoint as readCode } from '#functions/codes/read-code/handler.ts'
import { endpoint as createOrder } from '#functions/orders/create-order/handler.ts'
import { endpoint as listOrders } from '#functions/orders/list-orders/handler.ts'
import { endpoint as readOrder } from '#functions/orders/read-order/handler.ts'
import { endpoint as createRefund } from '#functions/refunds/create-refund/endpoint.ts'
import { processMemory, type Remember } from '#shared/platform/base/cached-load.ts'
import type { Clock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import type { HttpRequest, HttpResponse } from '#shared/platform/base/http.ts'
import type { Caller } from '#shared/platform/identity/caller.ts'
import { tokenVerifier } from '#shared/platform/identity/token.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { handleRequest, openRequest } from '#shared/platform/request/handle-request.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import type { Settings } from '#shared/settings/register.ts'
import { MemoryStore, serviceError } from '#test/simulation/memory-store.ts'
import { memoryTable, type TableCall } from '#test/simulation/memory-table.ts'
import { Capacity, isThrottle } from '#test/simulation/partition-capacity.ts'
import type { Random } from '#test/simulation/random.ts'
import type { Scheduler } from '#test/simulation/scheduler.ts'
import { longTokenSettings } from '#test/support/settings.ts'
import { testKeys } from '#test/support/test-keys.ts'
import { between, type Functions } from './functions.ts'

/** Milliseconds of a call of DynamoDB, by the kind of call, and of the payment provider. */
const tableMilliseconds = { transact: [8, 16], other: [3, 8], throttled: [2, 4] } as const
const providerMilliseconds = [150, 400] as const
const hangingMilliseconds = 10_000

interface Options {
  scheduler: Scheduler
  random: Random
  functions: Functions
  settings: Settings
  scale: number
  credit: number
  unlimited: boolean
  /** Returns whether the payment provider hangs now. */
  providerHangs: () => boolean
}

export type Operation =
  | 'orders.create'
  | 'orders.read'
  | 'orders.list'
  | 'codes.create'
  | 'codes.read'
  | 'refunds.create'

/** The endpoints of the service on functions, a table and a payment provider of limited capacity, in virtual time. */
export class OverloadedService {
  /** The calls of DynamoDB by tenant. */
  readonly calls = new Map<string, number>()
  readonly #options: Options
  readonly #store: MemoryStore
  readonly #capacity: Capacity
  readonly #endpoints: Record<Operation, Endpoint>
  readonly #callers = new Map<string, Promise<Caller>>()
  readonly #verifier
  readonly #remember: Remember

  constructor(options: Options) {
    const { scheduler, settings, scale, credit } = options
    this.#options = options
    this.#store = new MemoryStore({ now: () => scheduler.now })
    this.#capacity = new Capacity({ store: this.#store, now: () => scheduler.now, scale, credit })
    this.#verifier = tokenVerifier({
      ...settings,
      'auth.maxTokenSeconds': longTokenSettings['auth.maxTokenSeconds'],
    })
    this.#remember = processMemory({ now: () => scheduler.now })
    this.#endpoints = {
      'orders.create': createOrder,
      'orders.read': readOrder,
      'orders.list': listOrders,
      'codes.create': createCode,
      'codes.read': readCode,
      'refunds.create': this.#withProvider(createRefund),
    }
  }

  /** Sends a request through the gateway, which rejects it if no function is free. */
  async request(operation: Operation, tenant: string, request: HttpRequest): Promise<HttpResponse> {
    const { functions, settings } = this.#options
    const response = await functions.invoke(operation, (clock) => {
      const runtime = this.#runtime(clock, tenant)
      return handleRequest(openRequest([this.#endpoints[operation]], request, runtime))
    })
    if (response?.status === 500) throw new Error(`the model of ${operation} fails: ${response.body}`)
    if (response) return response
    const { max } = settings['errors.retryAfterSeconds']
    return { status: 503, headers: { 'Retry-After': String(max) }, body: undefined }
  }

  #runtime(clock: Clock, tenant: string): Runtime {
    const { scheduler, random, settings, unlimited } = this.#options
    const ignore = () => undefined
    return {
      settings,
      clock,
      log: new Proxy({} as Runtime['log'], { get: () => ignore }),
      tokens: {
        verify: (...credentials) => {
          const [authorization = ''] = credentials
          const caller =
            this.#callers.get(authorization) ?? scheduler.native(this.#verifier.verify(...credentials))
          this.#callers.set(authorization, caller)
          return caller
        },
      },
      openTable: (budget, wanted = 'critical', units) => {
        const access = {
          clock,
          budget,
          criticality: unlimited ? 'critical' : wanted,
          ...(units && { units }),
        }
        return memoryTable(this.#store, access, async (call) => {
          this.calls.set(tenant, (this.calls.get(tenant) ?? 0) + 1)
          const { transact, other, throttled } = tableMilliseconds
          const half = between(call.name === 'transact' ? transact : other, random) / 2
          await scheduler.sleep(between(throttled, random) / 2)
          const result = this.#run(call)
          await scheduler.sleep(half)
          return result
        })
      },
      openFiles: () => {
        throw new Error('no operation of this model has files')
      },
      secret: async () => 'sk_test',
      isBlocked: async () => false,
      remember: this.#remember,
      ...testKeys,
      environment: () => 'overload',
    }
  }

  /** Runs a call of the store. Without limits, a throttle is retried as often as a conflict. */
  #run<Result>(call: TableCall<Result>): Result {
    try {
      return this.#capacity.run(call)
    } catch (thrown) {
      throw this.#options.unlimited && isThrottle(thrown) ? serviceError('TransactionConflict') : thrown
    }
  }

  #withProvider(endpoint: Endpoint): Endpoint {
    const { scheduler, random, providerHangs } = this.#options
    return {
      ...endpoint,
      saga: (context) =>
        refundSaga(context, async () => ({
          refund: async (request, budget) => {
            const wanted = providerHangs() ? hangingMilliseconds : between(providerMilliseconds, random)
            const remaining = budget.remaining()
            await scheduler.sleep(Math.min(wanted, remaining))
            if (wanted >= remaining) throw fail('DEPENDENCY.timeout')
            const providerRefundId = `re_${request.refundId}`
            return { status: 'succeeded' as const, providerRefundId, currency: 'EUR', replayed: false }
          },
          adopt: () => Promise.reject(new Error('no refund is lost')),
        })),
    } as Endpoint
  }
}
