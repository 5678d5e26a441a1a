import { setTimeout as sleep } from 'node:timers/promises'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import { reach } from '../reach.ts'
import type { Operator } from '../tenant-records.ts'
import type { Receiver } from '../webhook.ts'

/** The deployment to check, and a key with `verifyScopes` in a tenant without data. */
export interface Target extends Receiver {
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

/** The requests of `verify` with its API key, and the checks of their responses. */
export type Checks = ReturnType<typeof checksOf>

export function checksOf(target: Target, report: (check: string) => void) {
  const credential = { [target.settings['auth.apiKeyHeader']]: target.apiKey }
  const check = (name: string, { status, text }: Received, passed: boolean, expected: string) => {
    if (!passed) throw new Error(`${name}: expected ${expected}, received ${status} ${text.slice(0, 500)}`)
    report(name)
  }
  return {
    check,
    checkError: (name: string, received: Received, expected: string) =>
      check(name, received, `${received.status} ${received.json?.error?.code}` === expected, expected),
    send: (route: Route, init: RequestInit & { id?: string } = {}) =>
      ask(target, route, { ...init, headers: { ...credential, ...init.headers } }),
  }
}

/** Sends a request of a route. @param id replaces the parameter of its path */
export function ask(
  { baseUrl, settings }: Receiver,
  route: Route,
  init: RequestInit & { id?: string },
): Promise<Received> {
  const path = pathOf(route, settings).replace(/\{\w+\}/, init.id ?? '')
  return received(reach(`${baseUrl}${path}`, { method: route.method, ...init }))
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
