import { perSettings } from '../../settings/per-settings.ts'
import type { Settings } from '../../settings/register.ts'
import type { HttpRequest } from './http.ts'

/** The trace of a request by header name. Each value can be sent and stored unchanged. */
export interface TraceContext {
  traceparent?: string
  tracestate?: string
  baggage?: string
}

/** The common context of a response, its logs, its audit records and its events. */
export interface Correlation {
  id: string
  /** Passed on in responses, events and calls of other services. */
  trace: TraceContext
}

export const traceparentPattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const tracestatePattern = /^[\x20-\x7e]{1,512}$/
/** A list member of W3C Baggage: key, value and properties, without surrounding white space. */
const member = /^[\w!#$%&'*+.^`|~-]+[\t ]*=[\t \x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e;]*$/

const characters = { visible_ascii: '\\x21-\\x7e', word: 'A-Za-z0-9._-' }

/**
 * The pattern of a correlation id (setting requests.correlationId). It allows no white space or control characters.
 */
export const correlationIdPattern = perSettings((settings) => {
  const { form, maxLength } = settings['requests.correlationId']
  return new RegExp(`^[${characters[form]}]{1,${maxLength}}$`)
})

/** Returns the caller's well-formed correlation id and trace, with a new id if there is none. */
export function correlationOf(
  headers: HttpRequest['headers'],
  settings: Settings,
  newId: () => string,
): Correlation {
  const id = headers['x-correlation-id']
  return {
    id: id !== undefined && correlationIdPattern(settings).test(id) ? id : newId(),
    trace: traceOf(headers, settings),
  }
}

/** Returns the well-formed parts of a trace, with baggage up to the limit of the setting. */
export function traceOf(
  { traceparent, tracestate, baggage = '' }: { [Name in keyof TraceContext]?: string | undefined },
  settings: Settings,
): TraceContext {
  const traced = traceparent !== undefined && traceparentPattern.test(traceparent)
  const kept = baggageWithin(baggage, settings['requests.baggageMaxBytes'])
  return {
    ...(traced && { traceparent }),
    ...(traced && tracestate !== undefined && tracestatePattern.test(tracestate) && { tracestate }),
    ...(kept !== '' && { baggage: kept }),
  }
}

/** Returns the first well-formed members that fit together. Members are never truncated. */
function baggageWithin(baggage: string, maxBytes: number): string {
  const members = baggage.split(',').map((one) => one.trim())
  let kept = ''
  for (const one of members.filter((text) => member.test(text))) {
    const longer = kept === '' ? one : `${kept},${one}`
    if (longer.length > maxBytes) break
    kept = longer
  }
  return kept
}

export function correlationHeaders({ id, trace }: Correlation): Record<string, string> {
  return { 'X-Correlation-Id': id, ...trace }
}
