import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import { isId } from '#shared/platform/base/clock.ts'
import type { HttpResponse } from '#shared/platform/base/http.ts'
import { longTokenSettings, tokenFor } from '#test/support/settings.ts'
import type { Random } from './random.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

/** Who sends a request. */
export interface Identity {
  tenant: string
  role: 'Viewer' | 'Editor' | 'Admin' | 'Service'
  sub: string
}

export interface Answer extends HttpResponse {
  // biome-ignore lint/suspicious/noExplicitAny: bodies have any shape
  json: any
  correlation: string
  /** Milliseconds since 1970. */
  at: number
  /** Who asked; undefined without a credential. */
  by: Identity | undefined
  /** The API key of the request. */
  apiKey: string | undefined
}

/** A request as its client means it: sent until it has a final answer, always with the same key. */
export interface Intent {
  operation: string
  by: Identity | undefined
  method: string
  path: string
  headers: Record<string, string>
  body?: unknown
  key?: string
  /** Sent after the key has expired: another request. */
  isAnother?: boolean
  /** Common to all its attempts, and to other requests; without it, each attempt has its own. */
  correlation?: string
  /** All answers that arrived. */
  answers: Answer[]
  /** The correlation ids of all attempts, also of those without an answer. */
  correlations: string[]
}

/** What the clients of a schedule saw. */
export interface History {
  intents: Intent[]
  /** Texts that must not appear in logs, events, audit records and errors. */
  secrets: Set<string>
  orders: { id: string; tenant: string; at: number }[]
  codes: { id: string; tenant: string; text: string }[]
  /** The received events that were acknowledged, by id. */
  events: Map<string, { type: string; data: Record<string, unknown>; occurred_at: string }>
  /** The events of Stripe that were acknowledged, by id: whether they fit a refund. */
  stripeEvents: Map<string, boolean>
  /** The ids of events that name another tenant, or something that does not exist. */
  misfits: Set<string>
  /** The API keys of the tenants. */
  apiKeys: Map<string, string>
  /** The sessions of logins by one-time code, by the message of the code. */
  sessions: Map<string, Set<string>>
}

export const newHistory = (): History => ({
  intents: [],
  secrets: new Set(),
  orders: [],
  codes: [],
  events: new Map(),
  stripeEvents: new Map(),
  misfits: new Set(),
  apiKeys: new Map(),
  sessions: new Map(),
})

/** The time at which every schedule begins, so that tokens can be signed once for all of them. */
export const epoch = Date.UTC(2026, 2, 1)
const tokens = new Map<string, Promise<string>>()
const maxAttempts = 5
const timeoutMilliseconds = 10_000

/** A client that retries as the contract says, over a network that loses requests and responses. */
export class Client {
  readonly name: string
  readonly world: World
  readonly history: History
  readonly random: Random
  #calls = 0

  constructor(name: string, world: World, history: History) {
    this.name = name
    this.world = world
    this.history = history
    this.random = world.random.fork(name)
  }

  /** Sends a request and retries it after 429, 5xx and lost answers. @returns the last answer, if one arrived */
  async send(
    request: Omit<Intent, 'answers' | 'correlations' | 'headers'> & { headers?: Record<string, string> },
  ): Promise<Answer | undefined> {
    const intent: Intent = { headers: {}, ...request, answers: [], correlations: [] }
    this.history.intents.push(intent)
    return this.resend(intent)
  }

  async resend(intent: Intent): Promise<Answer | undefined> {
    const until = this.world.scheduler.now + timeoutMilliseconds
    let answer: Answer | undefined
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      answer = await this.#attempt(intent)
      if (answer && answer.status < 500 && answer.status !== 429 && !this.#isRotated(intent, answer))
        return answer
      const pause = this.random.next() * 100 * 2 ** attempt
      const wait = Math.max(pause, Number(answer?.headers['Retry-After'] ?? 0) * 1000)
      if (this.world.scheduler.now + wait > until) break
      await this.world.scheduler.sleep(wait)
    }
    return answer
  }

  /** Returns whether the API key of a request was replaced while the request was on its way. */
  #isRotated({ by }: Intent, { status, apiKey }: Answer): boolean {
    return (
      status === 401 &&
      by !== undefined &&
      apiKey !== undefined &&
      apiKey !== this.history.apiKeys.get(by.tenant)
    )
  }

  async #attempt(intent: Intent): Promise<Answer | undefined> {
    const { scheduler, faults } = this.world
    this.#calls += 1
    const correlation = intent.correlation ?? `${this.name}/${this.#calls}`
    const [before, after] = [this.random.chance(0.03), this.random.chance(0.05)]
    const headers = await this.#headers(intent, correlation)
    if (faults.active && before) {
      scheduler.note(this.name, `${intent.operation} is lost on its way`)
      await scheduler.sleep(50)
      return undefined
    }
    intent.correlations.push(correlation)
    const { method, path, body } = intent
    const call = { method, path, headers, body: bytesOf(body), sourceAddress: '192.0.2.1' }
    scheduler.note(this.name, `${method} ${path} ${intent.key ?? ''}`)
    const late = scheduler.sleep(timeoutMilliseconds).then(() => undefined)
    const response = await Promise.race([this.world.request(`${this.name}-${intent.operation}`, call), late])
    if (!response || (faults.active && after)) {
      scheduler.note(this.name, `${intent.operation} has no answer`)
      return undefined
    }
    scheduler.note(this.name, `${intent.operation} is answered ${response.status}`)
    const json =
      response.body && /json/.test(response.headers['Content-Type'] ?? '') && JSON.parse(response.body)
    const answer = {
      ...response,
      json: json || undefined,
      correlation,
      at: scheduler.now,
      by: intent.by,
      apiKey: headers['x-api-key'],
    }
    this.#check(intent, answer)
    intent.answers.push(answer)
    return answer
  }

  async #headers(intent: Intent, correlation: string): Promise<Record<string, string>> {
    const { by, key, body } = intent
    const credential: Record<string, string> = !by
      ? {}
      : by.role === 'Service'
        ? { 'x-api-key': this.history.apiKeys.get(by.tenant) ?? '' }
        : { authorization: `Bearer ${await this.world.scheduler.native(tokenOf(by))}` }
    const named = Object.entries(intent.headers).map(([name, value]) => [name.toLowerCase(), value])
    return {
      'x-correlation-id': correlation,
      ...(typeof body === 'object' && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...credential,
      ...Object.fromEntries(named),
    }
  }

  /** Checks what every response promises. */
  #check(intent: Intent, answer: Answer): void {
    const { status, json, headers, correlation } = answer
    if (headers['X-Correlation-Id'] === undefined && (status === 502 || status === 504)) return
    if (headers['X-Correlation-Id'] !== correlation) this.#violation('correlation', intent, answer)
    if (status >= 400) {
      const { code, http, retryable, message_id } = json?.error ?? {}
      const known = errorCatalog[code as ErrorCode]
      const sound =
        known && http === status && retryable === known.retryable && message_id === messageId(code)
      if (!sound) this.#violation('every error is in the catalog', intent, answer)
      if (status === 500 && code === 'INTERNAL.unexpected')
        this.#violation('no internal error', intent, answer)
    }
    if (intent.key === undefined) return
    const earlier = intent.answers.find(isFinal)
    if (!earlier) return
    const replayed = status === earlier.status && answer.body === earlier.body
    const unsure = status >= 500 || status === 429 || json?.error?.code === 'CONFLICT.idempotency.in_progress'
    if (!replayed && !unsure) this.#violation('equal responses for each key', intent, answer)
  }

  #violation(oracle: string, { operation, key }: Intent, { status, body }: Answer): never {
    const violation = new Violation(oracle, `${operation} ${key ?? ''} was answered ${status} ${body ?? ''}`)
    this.world.scheduler.fail(violation)
    throw violation
  }
}

/** Returns whether an answer of a request with a key is replayed forever. */
function isFinal({ status, headers }: Answer): boolean {
  return status < 400 || headers['Idempotency-Status'] !== undefined
}

/** Two requests at once wait for one signature, so that none of them overtakes the other. */
function tokenOf({ tenant, role, sub }: Identity): Promise<string> {
  const name = `${tenant} ${role} ${sub}`
  const scope = 'codes:read codes:write'
  const signing = { tenant, role, sub, scope, expiresInSeconds: longTokenSettings['auth.maxTokenSeconds'] }
  const token = tokens.get(name) ?? tokenFor(signing, longTokenSettings, epoch - 10_000)
  tokens.set(name, token)
  return token
}

function bytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined) return undefined
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Returns the ids in a text. */
export function idsIn(text: string): string[] {
  return (text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []).filter(isId)
}
