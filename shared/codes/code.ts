import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { failField } from '../platform/base/failure.ts'
import { defineResource, type ViewOf } from '../platform/base/resource.ts'
import { instant, readDateTime, utc } from '../platform/formats/text.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import { liveStates } from '../settings/live-states.ts'
import { describedAs, openPoint, perSettings, storedValue } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { CodeName } from './code-name.ts'
import { codeStates, type LiveState, stateAfterRestore } from './code-states.ts'
import { CodeText } from './code-text.ts'

/** A discount code. */
export const Code = defineResource({
  title: 'DiscountCode',
  setting: 'codes.fields',
  shows: (name, settings) => name !== 'version' || settings['codes.fields'].includes(name),
  fields: {
    id: v.string(),
    code: { request: CodeText, view: v.string() },
    type: {
      request: (settings: Settings) =>
        v.pipe(v.picklist(Object.keys(settings['codes.types'])), openPoint('codes.types')),
      view: v.string(),
    },
    name: { request: CodeName, view: v.string() },
    // Converted to UTC.
    expiry_at: { request: instant, view: utc },
    created_by: v.string(),
    tenant_id: v.string(),
    soft_deleted: v.boolean(),
    created_at: utc,
    updated_at: utc,
    state: storedValue(v.picklist(codeStates)),
    // Incremented by each change; conditional writes use it.
    version: v.pipe(v.number(), v.integer()),
  },
})

export type CodeView = ViewOf<typeof Code>

/** A stored code. */
export interface Code extends CodeView {
  /** The state before the soft delete; present only while the code is soft-deleted. */
  state_before_delete?: LiveState
  /** The sort key of its uniqueness lock if that is not its text. */
  lock_key?: string
}

/** The body of POST /codes. */
type NewCode = v.InferOutput<ReturnType<typeof Code.request>>

type Changeable = 'name' | 'expiry_at' | 'state'

/** Returns the fields that callers read and never write. */
function readOnlyFields(settings: Settings) {
  const changeable: readonly string[] = ['name', 'expiry_at', 'state'] satisfies Changeable[]
  const names = [
    ...Code.names.filter((name) => name !== 'version'),
    ...Object.keys(Code.shownEntries(settings)),
  ]
  const fields = names.filter((name) => !changeable.includes(name)).map((name) => [name, never])
  return Object.fromEntries(fields) as Record<Exclude<keyof CodeView, Changeable>, typeof never>
}

const never = v.exactOptional(v.never())

/** The body of PATCH /codes/{id}. A read-only field is denied, not unknown. */
export const CodeChanges = perSettings((settings) => {
  const moves = settings['codes.transitions'].length > 0
  return v.pipe(
    v.strictObject({
      name: v.exactOptional(CodeName(settings)),
      expiry_at: v.exactOptional(instant),
      state: moves ? v.exactOptional(v.pipe(v.picklist(liveStates), openPoint('codes.transitions'))) : never,
      ...readOnlyFields(settings),
    }),
    v.minEntries(1),
    v.title('DiscountCodeChanges'),
  )
})
export type CodeChanges = v.InferOutput<ReturnType<typeof CodeChanges>>

/** The body of PUT /codes/{id}: the code as it was read, with another name, expiry or state. */
export const CodeReplacement = perSettings((settings) => {
  const asRead = Object.entries(Code.shownEntries(settings)).map(([name, shown]) => [
    name,
    v.exactOptional(v.pipe(v.unknown(), describedAs(shown))),
  ])
  const fields = {
    ...(Object.fromEntries(asRead) as Record<string, v.ExactOptionalSchema<v.UnknownSchema, undefined>>),
    name: CodeName(settings),
    expiry_at: instant,
  }
  return v.pipe(v.strictObject(fields), v.title('DiscountCodeReplacement'))
})
export type CodeReplacement = v.InferOutput<ReturnType<typeof CodeReplacement>>

/**
 * Returns the changes that a replacement makes to a code.
 * @throws AUTHZ.field.denied if a field that cannot be written differs
 */
export function changesBy(replacement: CodeReplacement, code: Code, settings: Settings): CodeChanges {
  const view: Readonly<Record<string, unknown>> = Code.viewOf(code)
  const differing = Object.entries(replacement).filter(([name, value]) => !isSame(name, value, view[name]))
  // The name is written even if it stays: an update without a change is refused.
  const changes = { ...Object.fromEntries(differing), name: replacement.name }
  const result = v.safeParse(CodeChanges(settings), changes)
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

/**
 * Returns whether a field is sent as it was read. Clients may write a time in another form, and that of a read-only field
 * without its milliseconds, as PHP does. With If-Match: * they may have read it before an update, which advances two fields.
 */
function isSame(name: string, sent: unknown, read: unknown): boolean {
  if (sent === read) return true
  if (name === 'version') return typeof sent === 'number' && typeof read === 'number' && sent < read
  if (typeof sent !== 'string' || typeof read !== 'string') return false
  const [time, known] = [readDateTime(sent), readDateTime(read)]
  if (typeof time !== 'number' || typeof known !== 'number') return false
  if (name === 'updated_at' && time < known) return true
  return time === known || (name !== 'expiry_at' && time === known - (known % 1000))
}

/**
 * Creates a code, in the first state of codes by default. created_at is the time in its id.
 * @throws VALIDATION.date.range if expiry_at has passed
 */
export function makeCode(
  request: NewCode & { state?: LiveState },
  { id, tenant, createdBy }: { id: string; tenant: string; createdBy: string },
  settings: Settings,
): Code {
  checkExpiry(request.expiry_at, timeOf(id))
  const at = timestamp(timeOf(id))
  return {
    id,
    tenant_id: tenant,
    ...request,
    created_by: createdBy,
    created_at: at,
    updated_at: at,
    state: request.state ?? settings['codes.initialState'],
    soft_deleted: false,
    version: 1,
  }
}

/** Applies changes to a code. expiry_at must be in the future only if it is changed. */
export function changeCode(code: Code, changes: CodeChanges, now: number): Code {
  if (changes.expiry_at !== undefined) checkExpiry(changes.expiry_at, now)
  return next(code, changes, now)
}

/** Soft-deletes a live code. If that frees its text, its lock moves to another key. */
export function softDeleteCode(code: Code, settings: Settings, now: number): Code {
  const state_before_delete = code.state as LiveState
  const { softDeletedKeepsCode } = settings['codes.duplicate']
  const lock = softDeletedKeepsCode ? {} : { lock_key: `${code.code}#${code.id}` }
  return next(code, { state: 'soft_deleted', soft_deleted: true, state_before_delete, ...lock }, now)
}

/** Restores a soft-deleted code. */
export function restoreCode({ lock_key: _, ...code }: Code, settings: Settings, now: number): Code {
  const { state_before_delete: before, ...rest } = code
  return next(rest, { state: stateAfterRestore(before, settings), soft_deleted: false }, now)
}

function next(code: Code, changes: Partial<Code>, now: number): Code {
  // updated_at advances even if the clock of the last writer was ahead.
  const at = timestamp(Math.max(now, Date.parse(code.updated_at) + 1))
  return { ...code, ...changes, updated_at: at, version: code.version + 1 }
}

function checkExpiry(expiryAt: string, now: number): void {
  if (Date.parse(expiryAt) >= now) return
  const problem = { reason: 'past', not_before: timestamp(now), actual: expiryAt }
  throw failField('VALIDATION.date.range', 'expiry_at', problem)
}
