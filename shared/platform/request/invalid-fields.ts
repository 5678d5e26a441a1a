import type * as v from 'valibot'
import { type ErrorCode, errorCatalog } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import { displayName, type Failure, type FieldProblem, fail, failField } from '../base/failure.ts'
import { charactersOf } from '../formats/text.ts'

/**
 * Returns one error for all invalid fields (setting errors.multiField). Its code is theirs if they agree. If some
 * fields may not be written at all, only those are reported.
 */
export function invalidFields(issues: readonly v.BaseIssue<unknown>[], settings: Settings): Failure {
  const all = issues.map((issue) => ({ field: fieldOf(issue), ...problemOf(issue) }))
  const denied = all.filter(({ code }) => code === 'AUTHZ.field.denied')
  const problems = denied.length > 0 ? denied : all
  const first = problems[0]
  if (problems.length === 1 && first) return failField(first.code, first.field, first.problem)
  const codes = new Set(problems.map(({ code }) => code))
  const code = codes.size === 1 && first ? first.code : 'VALIDATION.body.invalid'
  // fromEntries defines own properties, so a field named __proto__ is only a name.
  const fields = Object.fromEntries(problems.map(({ field, problem }) => [field, problem]))
  const errors = problems.map(({ field, code: of, problem }) => ({ field, code: of, ...problem }))
  const list = settings['errors.multiField'] === 'fields_and_errors' ? { errors } : {}
  return fail(code, { details: { fields, ...list } })
}

function fieldOf(issue: v.BaseIssue<unknown>): string {
  return displayName(issue.path?.map(({ key }) => String(key)).join('.') ?? 'body')
}

interface Problem {
  code: ErrorCode
  problem: FieldProblem
}

/** The reported reason for each expectation of a schema with raw_transform. */
const rawReasons: Record<string, string> = {
  malformed: 'date-time',
  without_zone: 'timezone_required',
  not_utc: 'utc_required',
  email: 'email',
}

const byIssueType: Record<string, (issue: v.BaseIssue<unknown>) => Problem> = {
  strict_object: (issue) =>
    issue.expected === 'never'
      ? { code: 'VALIDATION.field.unknown', problem: { reason: 'unknown' } }
      : issue.received === 'undefined'
        ? { code: 'VALIDATION.field.required', problem: { reason: 'required' } }
        : wrongType(issue),
  never: () => ({ code: 'AUTHZ.field.denied', problem: { reason: 'immutable' } }),
  min_entries: () => ({ code: 'VALIDATION.body.invalid', problem: { reason: 'empty', min: 1 } }),
  characters: (issue) => {
    const bounds = issue.requirement as { min: number; max: number }
    const actual = lengthOf(issue)
    return limit('VALIDATION.field.length', actual < bounds.min ? 'too_short' : 'too_long', bounds, actual)
  },
  check: () => ({ code: 'VALIDATION.field.format', problem: { reason: 'charset' } }),
  raw_transform: (issue) => ({
    code: 'VALIDATION.field.format',
    problem: { reason: rawReasons[String(issue.expected)] ?? 'format' },
  }),
  min_length: (issue) =>
    limit('VALIDATION.field.length', 'too_short', { min: bound(issue) }, lengthOf(issue)),
  max_length: (issue) => limit('VALIDATION.field.length', 'too_long', { max: bound(issue) }, lengthOf(issue)),
  min_value: (issue) =>
    limit('VALIDATION.field.range', 'too_small', { min: bound(issue) }, Number(issue.input)),
  max_value: (issue) =>
    limit('VALIDATION.field.range', 'too_large', { max: bound(issue) }, Number(issue.input)),
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
  // A schema sets its own code as the message of a rule.
  return { code: Object.hasOwn(errorCatalog, issue.message) ? (issue.message as ErrorCode) : code, problem }
}

function wrongType(issue: v.BaseIssue<unknown>): Problem {
  const actual = Array.isArray(issue.input) ? 'array' : issue.input === null ? 'null' : typeof issue.input
  return { code: 'VALIDATION.field.type', problem: { reason: 'type', actual } }
}

function limit(code: ErrorCode, reason: string, bounds: Partial<FieldProblem>, actual: number): Problem {
  return { code, problem: { reason, ...bounds, actual } }
}

function bound(issue: v.BaseIssue<unknown>): number {
  return Number(issue.requirement)
}

/** Returns the length of a string in characters, or of an array. */
function lengthOf({ input }: v.BaseIssue<unknown>): number {
  return typeof input === 'string' ? charactersOf(input) : (input as unknown[]).length
}
