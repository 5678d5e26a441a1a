import { smallestId } from '../platform/base/clock.ts'
import { type Failure, fail } from '../platform/base/failure.ts'
import type { Revisable } from '../platform/idempotency/decision.ts'
import { locate } from '../platform/identity/authorize.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { entityTag } from '../platform/request/parse-headers.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import { create, remove, type Table, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { Code } from './code.ts'
import { type CodeTrigger, startCondition } from './code-states.ts'

/** Casts an item of the codes' partitions. */
export function asCode(item: Item): Code {
  return item as unknown as Code
}

/** @throws NOT_FOUND.code, also for a code of another tenant */
export async function readCode(
  context: Pick<RequestContext, 'table' | 'scope' | 'settings' | 'isBlocked'>,
  id: string,
): Promise<Code> {
  return asCode(await locate(context, 'code', id, 'NOT_FOUND.code'))
}

/**
 * Finds a code by its normalized text. An unknown text takes the same number of reads, so the duration reveals
 * nothing.
 */
export async function findByText(table: Table, tenant: string, text: string): Promise<Code | undefined> {
  const lock = await table.get(keyOf(tenant, 'code_lock', text))
  const item = await table.get(keyOf(tenant, 'code', String(lock?.code_id ?? smallestId)))
  return item && asCode(item)
}

/** Returns codes by id, at most 100, in no order. Absent ones are left out. */
export async function findCodes(table: Table, tenant: string, ids: readonly string[]): Promise<Code[]> {
  return (await table.getMany(ids.map((id) => keyOf(tenant, 'code', id)))).map(asCode)
}

/** Returns the entity tag with which a code is read. Each change gives it another one, as updated_at advances. */
export function codeEtag(code: Code, settings: Settings): string {
  return entityTag(Code.shown(Code.viewOf(code), settings))
}

/** Writes a code and the uniqueness lock of its text in the tenant. */
export function createCode(code: Code): Write[] {
  return [
    create({ ...keyOf(code.tenant_id, 'code', code.id), ...code }),
    create(lockItem(code), 'CONFLICT.code.exists'),
  ]
}

/** Returns the effects of a new code. @throws CONFLICT.code.exists at the commit if another code has its text */
export function codeCreation(code: Code, table: Table): Pick<Revisable<never>, 'writes' | 'onConflict'> {
  return {
    writes: createCode(code),
    async onConflict(existing) {
      if (existing?.code_id === undefined) throw fail('INTERNAL.unexpected')
      throw await textTaken(existing, code.tenant_id, table)
    },
  }
}

/**
 * Returns the failure of a code whose text is taken. It says whether the other code is deleted, as that one can be restored
 * instead.
 * @param lock the uniqueness lock of the text
 */
export async function textTaken(lock: Item, tenant: string, table: Table): Promise<Failure> {
  const other = await table.get(keyOf(tenant, 'code', String(lock.code_id)))
  const details = other && { soft_deleted: asCode(other).soft_deleted }
  return fail('CONFLICT.code.exists', details && { details })
}

/** Replaces a code if it has not changed since it was read and the trigger may start from its state. */
export function changedCode(before: Code, after: Code, trigger: CodeTrigger, settings: Settings): Write {
  return {
    item: { ...keyOf(after.tenant_id, 'code', after.id), ...after },
    condition: startCondition(trigger, settings, { version: before.version }),
    onFailure: 'TRANSIENT.error',
  }
}

/** Soft-deletes a code without a read. Fails if the update would not advance updated_at. */
export function softDeletedCode(key: Key, updated_at: string, settings: Settings): Write {
  return {
    update: key,
    set: { state: 'soft_deleted', soft_deleted: true, updated_at },
    copy: { state_before_delete: 'state' },
    increment: ['version'],
    condition: { ...startCondition('soft_delete', settings), below: { updated_at } },
    onFailure: 'TRANSIENT.error',
  }
}

/** Frees the text of a soft-deleted code: moves its lock to the key in `after`, if there is one. */
export function freeLock(code: Code, after: Code): Write[] {
  if (after.lock_key === undefined) return []
  return [remove(lockKey(code), { code_id: code.id }, 'TRANSIENT.error'), create(lockItem(after))]
}

/** Locks the text of a restored code again. */
export function restoreLock(code: Code, after: Code): Write[] {
  if (code.lock_key === undefined) return []
  const freed = remove(lockKey(code), { code_id: code.id }, 'TRANSIENT.error')
  return [freed, create(lockItem(after), 'CONFLICT.code.exists')]
}

/** Deletes a code and its lock. */
export function removedCode(code: Code): Write[] {
  const { tenant_id: tenant, id, version } = code
  return [
    remove(keyOf(tenant, 'code', id), { version }, 'TRANSIENT.error'),
    remove(lockKey(code), { code_id: id }, 'TRANSIENT.error'),
  ]
}

function lockItem(code: Code): Item {
  return { ...lockKey(code), code_id: code.id }
}

function lockKey({ tenant_id, code, lock_key = code }: Code): Key {
  return keyOf(tenant_id, 'code_lock', lock_key)
}
