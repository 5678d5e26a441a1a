import type { HttpRequest } from '#shared/platform/base/http.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Random } from '#test/simulation/random.ts'
import type { Scheduler } from '#test/simulation/scheduler.ts'
import { longTokenSettings, tokenFor } from '#test/support/settings.ts'
import { retryingFetch } from '../../client/retrying-fetch.ts'
import type { Operation, OverloadedService } from './service.ts'

/** A call of a client with all its attempts. Milliseconds since the start of the run. */
export interface Call {
  tenant: string
  operation: Operation
  startedAt: number
  endedAt: number
  attempts: number
  succeeded: boolean
}

interface Options {
  scheduler: Scheduler
  random: Random
  service: OverloadedService
  settings: Settings
}

const attemptMilliseconds = 5000

/** Clients that start calls whether or not earlier ones have ended, and retry each as the client library does. */
export class Clients {
  readonly calls: Call[] = []
  readonly #options: Options
  readonly #startedAt: number
  readonly #tokens = new Map<string, Promise<string>>()
  /** The latest item of each tenant, by the kind of item. */
  readonly #created = new Map<string, string>()
  #count = 0

  constructor(options: Options) {
    this.#options = options
    this.#startedAt = options.scheduler.now
  }

  /** Starts calls of a tenant at a rate, in calls a second, until it is undefined. The gaps between them are random. */
  async arrive(
    tenant: string,
    pick: (random: Random) => Operation,
    rateAt: (seconds: number) => number | undefined,
  ): Promise<void> {
    const { scheduler } = this.#options
    const random = this.#options.random.fork(`arrivals of ${tenant}`)
    for (;;) {
      const rate = rateAt((scheduler.now - this.#startedAt) / 1000)
      if (rate === undefined) return
      // A gap ends early, so that a change of the rate shows soon.
      const gap = (-Math.log(1 - random.next()) / rate) * 1000
      await scheduler.sleep(Math.min(gap, 1000))
      if (gap <= 1000) void this.#call(tenant, pick(random)).catch((thrown) => scheduler.fail(thrown))
    }
  }

  async #call(tenant: string, wanted: Operation): Promise<void> {
    const [kind = '', act] = wanted.split('.')
    // A tenant reads what it has created.
    const operation =
      act === 'read' && !this.#created.has(`${kind} ${tenant}`) ? (`${kind}.create` as Operation) : wanted
    const { scheduler, service } = this.#options
    const startedAt = scheduler.now - this.#startedAt
    this.#count += 1
    const random = this.#options.random.fork(`call ${this.#count}`)
    const { method, params, body } = this.#shapeOf(tenant, operation, this.#count)
    const token = await this.#token(tenant)
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json', 'idempotency-key': `call-${this.#count}` }),
    }
    const request: HttpRequest = {
      method,
      path: '/',
      params,
      query: [],
      headers,
      body: body && new TextEncoder().encode(JSON.stringify(body)),
      sourceAddress: '192.0.2.1',
    }
    let attempts = 0
    const fetch = retryingFetch({
      fetch: async () => {
        attempts += 1
        const answer = await service.request(operation, tenant, request)
        return new Response(answer.body ?? null, { status: answer.status, headers: answer.headers })
      },
      token: () => undefined,
      attemptMilliseconds,
      clock: {
        now: () => scheduler.now,
        after(milliseconds, callback) {
          let isOff = false
          scheduler.after(milliseconds, () => isOff || callback())
          return () => {
            isOff = true
          }
        },
      },
      random: () => random.next(),
    })
    const response = await fetch(new Request('https://service.example', { method })).catch(() => undefined)
    const succeeded = response?.ok ?? false
    if (response?.status === 201)
      this.#created.set(`${kind} ${tenant}`, ((await response.json()) as { id: string }).id)
    const endedAt = scheduler.now - this.#startedAt
    this.calls.push({ tenant, operation, startedAt, endedAt, attempts, succeeded })
  }

  #shapeOf(tenant: string, operation: Operation, count: number) {
    const params: Record<string, string> = {}
    if (operation === 'orders.create') {
      return {
        method: 'POST',
        params,
        body: { cart_id: `cart-${count}`, amount_minor: 1000, currency: 'EUR' },
      }
    }
    if (operation === 'codes.create') {
      const code = {
        code: `CODE-${count}`,
        type: 'percent-10',
        name: 'Ten',
        expiry_at: '2099-01-01T00:00:00Z',
      }
      return { method: 'POST', params, body: code }
    }
    if (operation === 'refunds.create') {
      return { method: 'POST', params, body: { charge_id: `charge-${count}`, amount: 500 } }
    }
    const [kind = '', act] = operation.split('.')
    const id = this.#created.get(`${kind} ${tenant}`) ?? ''
    return { method: 'GET', params: act === 'read' ? { id } : params, body: undefined }
  }

  #token(tenant: string): Promise<string> {
    const { scheduler, settings } = this.#options
    const scope = 'codes:read codes:write'
    const signing = {
      tenant,
      role: 'Editor',
      scope,
      sub: 'shop',
      expiresInSeconds: longTokenSettings['auth.maxTokenSeconds'],
    }
    const token =
      this.#tokens.get(tenant) ?? scheduler.native(tokenFor(signing, settings, scheduler.now - 10_000))
    this.#tokens.set(tenant, token)
    return token
  }
}
