import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The parts of a request that the fake uses. */
export interface Call {
  /** The number of the request, counted from 1. */
  number: number
  method: string
  /** Without the version prefix: `/refunds`. */
  path: string
  /** From the query, or from a form-encoded body. */
  parameters: Record<string, string>
  account: string | undefined
  key: string | undefined
  authorized: boolean
  /** The headers of W3C Trace Context and W3C Baggage. */
  trace: Record<string, string | undefined>
}

export interface Answer {
  status: number
  headers?: Record<string, string>
  body: unknown
  /** Sent only after its caller has given up. */
  late?: boolean
}

const largestBody = 65_536

/** Reads a request; returns undefined if its caller disconnected before the end. */
export async function readCall(request: IncomingMessage, number: number): Promise<Call | undefined> {
  const form = await textOf(request)
  return form === undefined ? undefined : callOf(request, form, number)
}

/** @param form the body, form-encoded */
export function callOf(
  { method = 'GET', url: target = '/', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  form: string,
  number: number,
): Call {
  const url = new URL(target, 'http://provider.localhost')
  return {
    number,
    method,
    path: url.pathname.replace(/^\/v1(?=\/)/, ''),
    parameters: Object.fromEntries(method === 'GET' ? url.searchParams : new URLSearchParams(form)),
    account: headerOf(headers['stripe-account']),
    key: headerOf(headers['idempotency-key']),
    trace: {
      traceparent: headerOf(headers.traceparent),
      tracestate: headerOf(headers.tracestate),
      baggage: headerOf(headers.baggage),
    },
    authorized: /^Bearer .|^Basic ./.test(headers.authorization ?? ''),
  }
}

async function textOf(request: IncomingMessage): Promise<string | undefined> {
  let text = ''
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk
      if (text.length > largestBody) return undefined
    }
    return text
  } catch {
    return undefined
  }
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function sendAnswer(response: ServerResponse, call: Call, answer: Answer): void {
  response.writeHead(answer.status, headersOf(call, answer)).end(JSON.stringify(answer.body))
}

export function headersOf({ account, key }: Call, { headers }: Answer): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Request-Id': newStripeId('req'),
    ...(account !== undefined && { 'Stripe-Account': account }),
    ...(key !== undefined && { 'Idempotency-Key': key }),
    ...headers,
  }
}

/** Returns an id such as re_ and 24 characters. */
export function newStripeId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`
}

/** Returns Stripe's error object. Some errors have no code. */
export function errorAnswer(
  status: number,
  error: { type?: string; code?: string; param?: string; message: string },
): Answer {
  return { status, body: { error: { type: 'invalid_request_error', ...error } } }
}

/** Returns Stripe's response for an internal error. */
export function serverError(status = 500): Answer {
  return errorAnswer(status, { type: 'api_error', message: 'An unknown error occurred' })
}
