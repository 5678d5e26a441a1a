import type * as v from 'valibot'
import { Failure, type FieldProblem } from '#shared/platform/base/failure.ts'
import { parseBody } from '#shared/platform/request/check-request.ts'
import { localSettings } from '#test/support/settings.ts'

/** The parsed text, or the reason for its rejection. */
export type Parsed = { stored: string } | { code: string; problem: FieldProblem | undefined }

/** Parses a body whose only field has this text. */
export function parseField(schema: v.GenericSchema, field: string, text: unknown): Parsed {
  const body = new TextEncoder().encode(JSON.stringify({ [field]: text }))
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', path: '/', params: {}, query: [], headers, body, sourceAddress: '' }
  try {
    const output = parseBody(request, { body: () => schema }, localSettings) as Record<string, string>
    return { stored: output[field] ?? '' }
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    return { code: thrown.code, problem: thrown.details?.fields?.[field] }
  }
}
