import type { HttpRequest } from './request.ts'

/** What ties an answer, its logs, its audit records and its events together. */
export interface Correlation {
  id: string
  traceparent: string | undefined
  tracestate: string | undefined
}

/** No room for an e-mail address or free text, so that a caller's id can go into logs as it is. */
const idPattern = /^[A-Za-z0-9._-]{1,64}$/
export const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const tracestatePattern = /^[\x20-\x7e]{1,512}$/

/** Takes the caller's ids where they are well formed (W3C Trace Context), and makes a correlation id where not. */
export function correlationOf(headers: HttpRequest['headers'], newId: () => string): Correlation {
  const id = headers['x-correlation-id']
  const traceparent = headers.traceparent
  const tracestate = headers.tracestate
  const traced = traceparent !== undefined && traceparentPattern.test(traceparent)
  return {
    id: id !== undefined && idPattern.test(id) ? id : newId(),
    traceparent: traced ? traceparent : undefined,
    tracestate:
      traced && tracestate !== undefined && tracestatePattern.test(tracestate) ? tracestate : undefined,
  }
}

/** The request with a correlation id in any case: the caller's where it is well formed. */
export function withCorrelation(request: HttpRequest, newId: () => string): HttpRequest {
  const { id } = correlationOf(request.headers, newId)
  return { ...request, headers: { ...request.headers, 'x-correlation-id': id } }
}

export function correlationHeaders({ id, traceparent, tracestate }: Correlation): Record<string, string> {
  return {
    'X-Correlation-Id': id,
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
  }
}
