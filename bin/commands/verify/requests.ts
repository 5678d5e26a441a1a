import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Operator } from '../stack/operator-audit.ts'
import { reach } from '../stack/reach.ts'
import type { Receiver } from '../webhooks/webhook.ts'

/** The deployment to check, and a key with `verifyScopes` in a tenant without data. */
export interface VerifyTarget extends Receiver {
  tenant: string
  apiKey: string
  operator: Operator
  /** Whether it runs on AWS: the local gateway has no error responses, and no page can call the local buckets. */
  onAws: boolean
  /** How long to wait for the effect of a webhook, for the end of an import and for the delivery of a mail. */
  waitSeconds: number
}

export interface Received {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies have any shape
  json: any
}

/** Receives each check that has passed, or why it was skipped. */
export type ReportCheck = (check: string, skipped?: string) => void

/** The requests of `verify` with its API key, and the checks of their responses. */
export type Checks = ReturnType<typeof checksOf>

export function checksOf(target: VerifyTarget, report: ReportCheck) {
  const credential = { [target.settings['auth.apiKeyHeader']]: target.apiKey }
  const check = (name: string, { status, text }: Received, passed: boolean, expected: string) => {
    if (!passed) throw new Error(`${name}: expected ${expected}, received ${status} ${text.slice(0, 500)}`)
    report(name)
  }
  return {
    check,
    /** Returns whether an API key may use all these routes. Reports the check as skipped if not. */
    mayCheck: (name: string, ...routes: Route[]): boolean => {
      const closed = routes.find((route) => apiKeyScopes(route, target.settings) === undefined)
      if (closed) report(name, `auth.operationScopes lets no API key use ${closed.operation}`)
      return closed === undefined
    },
    checkError: (name: string, received: Received, expected: string) =>
      check(name, received, `${received.status} ${received.json?.error?.code}` === expected, expected),
    send: (route: Route, init: RequestInit & { id?: string } = {}) =>
      sendRequest(target, route, { ...init, headers: { ...credential, ...init.headers } }),
  }
}

/** Sends a request of a route, with a new key if it accepts one. @param init `id` replaces the parameter of its path */
export function sendRequest(
  { baseUrl, settings }: Receiver,
  route: Route,
  init: RequestInit & { id?: string },
): Promise<Received> {
  const path = pathOf(route, settings).replace(/\{\w+\}/, init.id ?? '')
  const key = route.idempotency === 'none' ? {} : { 'Idempotency-Key': `verify-${newId(systemClock)}` }
  const headers = { ...key, ...init.headers }
  return received(reach(`${baseUrl}${path}`, { method: route.method, ...init, headers }))
}

/** Sends a request whose headers may have several lines, which `fetch` would join. */
export async function sendLines(
  url: string,
  init: { method: string; headers: Readonly<Record<string, string | string[]>> },
  body: string,
): Promise<Received> {
  const { request } = await import(url.startsWith('https:') ? 'node:https' : 'node:http')
  const [response] = await once(request(url, init).end(body), 'response')
  return received(Promise.resolve(new Response(await text(response), { status: response.statusCode })))
}

export async function received(sent: Promise<Response>): Promise<Received> {
  const response = await sent
  const { status, headers } = response
  const text = await response.text()
  const json = await new Response(text).json().catch(() => undefined)
  return { status, headers, text, json }
}

/** Reads until a value passes or the time is over. @returns the last value */
export async function until<Value>(
  seconds: number,
  read: () => Promise<Value>,
  passes: (value: Value) => boolean,
): Promise<Value> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const value = await read()
    if (passes(value) || Date.now() >= deadline) return value
    await sleep(500)
  }
}
