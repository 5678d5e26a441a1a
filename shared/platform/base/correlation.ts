import { perSettings } from '../../settings/per-settings.ts'
import type { Settings } from '../../settings/register.ts'
import type { HttpRequest } from './http.ts'

/** The trace of a request by header name, in a form that can be sent and stored unchanged. */
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

/** W3C Trace Context. Only a version after 00 may have more at its end. */
export const traceparentPattern =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** A list member of tracestate: a key, perhaps of one tenant of a system, and a value. */
const stateMember =
  /^[a-z0-9](?:[a-z0-9_*/-]{0,255}|[a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/
const maxStateMembers = 32
const maxStateLength = 512
/** An eighth of what the standard lets a service pass on: an event carries it, and each item that carries the event. */
export const baggageMaxBytes = 1024
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
    trace: traceOf(headers),
  }
}

/** Returns the well-formed parts of a trace, with baggage up to the limit. */
export function traceOf({
  traceparent = '',
  tracestate = '',
  baggage = '',
}: { [Name in keyof TraceContext]?: string | undefined }): TraceContext {
  const parent = readTraceparent(traceparent)
  const state = parent === undefined ? '' : readTracestate(tracestate)
  const members = membersOf(baggage).filter((one) => member.test(one))
  const kept = fitting(members, baggageMaxBytes)
  return {
    ...(parent !== undefined && { traceparent: parent }),
    ...(state !== '' && { tracestate: state }),
    ...(kept !== '' && { baggage: kept }),
  }
}

/** Returns a traceparent in version 00. Of a later version, only the flag of sampled requests is kept. */
function readTraceparent(text: string): string | undefined {
  const [, version, trace, span, flags = '', rest] = traceparentPattern.exec(text.trim()) ?? []
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined
  const known = version === '00' ? flags : `0${Number.parseInt(flags, 16) & 1}`
  return `00-${trace}-${span}-${known}`
}

/** Returns a tracestate without optional white space; nothing of an invalid one. */
function readTracestate(text: string): string {
  const members = membersOf(text)
  const valid = members.length <= maxStateMembers && members.every((one) => stateMember.test(one))
  return valid ? fitting(members, maxStateLength) : ''
}

function membersOf(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)
}

/** Joins the first members that fit together. Members are never truncated. */
function fitting(members: readonly string[], maxBytes: number): string {
  let kept = ''
  for (const one of members) {
    const longer = kept === '' ? one : `${kept},${one}`
    if (longer.length > maxBytes) break
    kept = longer
  }
  return kept
}

export function correlationHeaders({ id, trace }: Correlation): Record<string, string> {
  return { 'X-Correlation-Id': id, ...trace }
}
