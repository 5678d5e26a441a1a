import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { catalogue, type ErrorCode } from '../errors/catalogue.ts'
import { type Failure, type FieldProblem, fail, failField } from '../errors/failure.ts'
import type { HttpRequest } from './request.ts'

/** Far deeper than any body of the service; a bound for everything that walks a parsed body. */
const deepest = 32
const longestShownName = 64

/**
 * The JSON body of a request, checked against its schema.
 * @throws VALIDATION.content_type.unsupported, VALIDATION.body.* and the codes of the fields
 */
export function parseBody(request: HttpRequest, schema: v.GenericSchema, settings: Settings): unknown {
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') {
    throw fail('VALIDATION.content_type.unsupported', { headers: { 'Accept-Post': 'application/json' } })
  }
  const value = parseJson(request.body ?? new Uint8Array())
  checkDepth(value)
  const result = v.safeParse(schema, value, { abortPipeEarly: true })
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw fail('VALIDATION.body.json', { cause })
  }
}

function checkDepth(value: unknown): void {
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) throw fail('VALIDATION.body.too_deep', { details: { max: deepest } })
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
}

/** One error for all invalid fields (setting errors.multiField); its code is theirs when they agree. */
function invalidFields(issues: readonly v.BaseIssue<unknown>[], settings: Settings): Failure {
  const problems = issues.map((issue) => ({ field: fieldOf(issue), ...problemOf(issue) }))
  const first = problems[0]
  if (problems.length === 1 && first) return failField(first.code, first.field, first.problem)
  const codes = new Set(problems.map(({ code }) => code))
  const code = codes.size === 1 && first ? first.code : 'VALIDATION.body.invalid'
  // fromEntries defines own properties, so that a field named __proto__ is only a name.
  const fields = Object.fromEntries(problems.map(({ field, problem }) => [field, problem]))
  const errors = problems.map(({ field, code: of, problem }) => ({ field, code: of, ...problem }))
  const list = settings['errors.multiField'] === 'fields_and_errors' ? { errors } : {}
  return fail(code, { details: { fields, ...list } })
}

function fieldOf(issue: v.BaseIssue<unknown>): string {
  const path = issue.path?.map(({ key }) => String(key)).join('.') ?? 'body'
  return path.slice(0, longestShownName)
}

interface Problem {
  code: ErrorCode
  problem: FieldProblem
}

const byIssueType: Record<string, (issue: v.BaseIssue<unknown>) => Problem> = {
  strict_object: (issue) =>
    issue.expected === 'never'
      ? { code: 'VALIDATION.field.unknown', problem: { reason: 'unknown' } }
      : issue.received === 'undefined'
        ? { code: 'VALIDATION.field.required', problem: { reason: 'required' } }
        : wrongType(issue),
  min_length: (issue) =>
    limit('VALIDATION.field.length', 'too_short', { min: bound(issue) }, lengthOf(issue)),
  max_length: (issue) => limit('VALIDATION.field.length', 'too_long', { max: bound(issue) }, lengthOf(issue)),
  min_value: (issue) => limit('VALIDATION.field.range', 'too_small', { min: bound(issue) }, numberOf(issue)),
  max_value: (issue) => limit('VALIDATION.field.range', 'too_large', { max: bound(issue) }, numberOf(issue)),
  picklist: (issue) =>
    typeof issue.input === 'string'
      ? { code: 'VALIDATION.field.enum', problem: { reason: 'not_allowed' } }
      : wrongType(issue),
  regex: (issue) => ({
    code: 'VALIDATION.field.format',
    problem: { reason: 'format', regex: String((issue.requirement as RegExp).source) },
  }),
}

function problemOf(issue: v.BaseIssue<unknown>): Problem {
  const { code, problem } = (byIssueType[issue.type] ?? wrongType)(issue)
  // A schema names a code of its own by giving it as the message of the rule.
  return { code: Object.hasOwn(catalogue, issue.message) ? (issue.message as ErrorCode) : code, problem }
}

function wrongType(issue: v.BaseIssue<unknown>): Problem {
  const actual = Array.isArray(issue.input) ? 'array' : issue.input === null ? 'null' : typeof issue.input
  return { code: 'VALIDATION.field.type', problem: { reason: 'type', actual } }
}

function limit(
  code: ErrorCode,
  reason: string,
  bounds: FieldProblem | object,
  actual: number | undefined,
): Problem {
  return { code, problem: { reason, ...bounds, ...(actual !== undefined && { actual }) } }
}

function bound(issue: v.BaseIssue<unknown>): number {
  return Number(issue.requirement)
}

function lengthOf(issue: v.BaseIssue<unknown>): number | undefined {
  return typeof issue.input === 'string' || Array.isArray(issue.input) ? issue.input.length : undefined
}

function numberOf(issue: v.BaseIssue<unknown>): number | undefined {
  return typeof issue.input === 'number' ? issue.input : undefined
}
