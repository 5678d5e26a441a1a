import type * as v from 'valibot'
import { type ErrorCode, errorCatalog } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import { displayName, type Failure, type FieldProblem, fail, failField } from '../base/failure.ts'
import { charactersOf, dateTimePattern, maxEmailBytes, wholeExpected } from '../formats/text.ts'

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
  const fields = Object.fromEntries(problems.map(({ field, code, problem }) => [field, { code, ...problem }]))
  const errors = problems.map(({ field, code, problem }) => ({ field, code, ...problem }))
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

/** The problem for each expectation of a schema with raw_transform. */
const rawProblems: Record<string, FieldProblem> = {
  malformed: { reason: 'date-time', regex: dateTimePattern.source },
  no_such_time: { reason: 'no_such_time' },
  without_zone: { reason: 'timezone_required', regex: dateTimePattern.source },
  not_utc: { reason: 'utc_required', regex: 'Z$' },
  email: { reason: 'email', max: maxEmailBytes },
}

const byIssueType: Record<string, (issue: v.BaseIssue<unknown>) => Problem> = {
  strict_object: (issue) =>
    issue.expected === 'never'
      ? {
          code: 'VALIDATION.field.unknown',
          problem: { reason: 'unknown', actual: typeOf(issue.path?.at(-1)?.value) },
        }
      : wrongType(issue),
  never: (issue) => ({
    code: 'AUTHZ.field.denied',
    problem: { reason: 'immutable', actual: typeOf(issue.input) },
  }),
  min_entries: () => ({ code: 'VALIDATION.body.invalid', problem: { reason: 'empty', min: 1, actual: 0 } }),
  characters: (issue) => {
    const bounds = issue.requirement as { min: number; max: number }
    const actual = lengthOf(issue)
    return limit('VALIDATION.field.length', actual < bounds.min ? 'too_short' : 'too_long', bounds, actual)
  },
  check: (issue) => limit('VALIDATION.field.format', 'charset', { regex: '^\\P{Cs}*$' }, lengthOf(issue)),
  raw_transform: (issue) => {
    const problem = rawProblems[String(issue.expected)] ?? { reason: 'format' }
    return { code: 'VALIDATION.field.format', problem: { ...problem, actual: lengthOf(issue) } }
  },
  min_length: (issue) =>
    limit('VALIDATION.field.length', 'too_short', { min: bound(issue) }, lengthOf(issue)),
  max_length: (issue) => limit('VALIDATION.field.length', 'too_long', { max: bound(issue) }, lengthOf(issue)),
  min_value: (issue) =>
    limit('VALIDATION.field.range', 'too_small', { min: bound(issue) }, Number(issue.input)),
  max_value: (issue) =>
    limit('VALIDATION.field.range', 'too_large', { max: bound(issue) }, Number(issue.input)),
  integer: (issue) => limit('VALIDATION.field.type', 'integer', { integer: true }, Number(issue.input)),
  picklist: (issue) =>
    typeof issue.input === 'string'
      ? limit('VALIDATION.field.enum', 'not_allowed', { allowed: optionsOf(issue) }, lengthOf(issue))
      : wrongType(issue, { type: 'string', allowed: optionsOf(issue) }),
  regex: (issue) => {
    const regex = (issue.requirement as RegExp).source
    return limit('VALIDATION.field.format', 'format', { regex }, lengthOf(issue))
  },
}

function problemOf(issue: v.BaseIssue<unknown>): Problem {
  const { code, problem } = (byIssueType[issue.type] ?? wrongType)(issue)
  // A schema sets its own code as the message of a rule.
  return { code: Object.hasOwn(errorCatalog, issue.message) ? (issue.message as ErrorCode) : code, problem }
}

/** @param valid what would be valid, if the issue does not name its type */
function wrongType(issue: v.BaseIssue<unknown>, valid: Partial<FieldProblem> = {}): Problem {
  // JSON has no undefined: the field is absent.
  if (issue.received === 'undefined')
    return { code: 'VALIDATION.field.required', problem: { reason: 'required', actual: 'absent' } }
  const type = jsonTypes[issue.expected ?? '']
  const problem: FieldProblem = {
    reason: 'type',
    ...(type !== undefined && { type }),
    ...(issue.message === wholeExpected && { integer: true }),
    ...valid,
    actual: typeOf(issue.input),
  }
  return { code: 'VALIDATION.field.type', problem }
}

/** The JSON types by their names in the library. */
const jsonTypes: Record<string, string> = {
  ...{ string: 'string', number: 'number', boolean: 'boolean' },
  ...{ Array: 'array', Object: 'object', null: 'null' },
}

function typeOf(input: unknown): string {
  return Array.isArray(input) ? 'array' : input === null ? 'null' : typeof input
}

/** Returns the texts of a picklist, which an issue only has as a type: `("a" | "b")`. */
function optionsOf({ expected }: v.BaseIssue<unknown>): string[] {
  return Array.from((expected ?? '').matchAll(/"([^"]*)"/g), ([, option = '']) => option)
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
