import type { KeyObject } from 'node:crypto'
import type { AuditedAction } from '../platform/audit/audit-record.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { Code } from './code.ts'

/**
 * Fields recorded with their values. Free text and the code itself, which is worth money, are recorded as redacted.
 */
const recordedFields = ['type', 'expiry_at', 'state', 'soft_deleted'] as const
const redactedFields = ['name', 'code'] as const

/**
 * Returns a change to one code for the audit, with the changed fields.
 * @param after undefined for a hard delete
 */
export function auditOfChange(action: string, before: Code, after: Code | undefined): AuditedAction {
  const [from, to] = changesBetween(before, after)
  return { ...auditOfCode(action, before), before: from, after: to }
}

/** Returns a hard delete for the audit. Nothing but the hash says which text the code had. */
export function auditOfHardDelete(code: Code, key: KeyObject): AuditedAction {
  const audited = auditOfChange('hard_delete', code, undefined)
  return { ...audited, before: { ...audited.before, code_hash: codeHash(key, code.tenant_id, code.code) } }
}

/** Returns the hash of a code's text in the audit of its tenant. @param text in its stored form */
export function codeHash(key: KeyObject, tenant: string, text: string): string {
  return keyedHash(key, tenant, text)
}

/** Returns an action on one code for the audit. */
export function auditOfCode(
  action: string,
  { id, tenant_id }: Pick<Code, 'id' | 'tenant_id'>,
): AuditedAction {
  return { action, target: `code/${id}`, tenant: tenant_id }
}

type AuditedFields = Record<string, unknown>

function changesBetween(before: Code, after: Code | undefined): [AuditedFields, AuditedFields] {
  const changed = <Field extends keyof Code>(field: Field) => !after || before[field] !== after[field]
  const from: AuditedFields = {}
  const to: AuditedFields = {}
  for (const field of recordedFields.filter(changed)) {
    from[field] = before[field]
    if (after) to[field] = after[field]
  }
  for (const field of redactedFields.filter(changed)) {
    from[field] = '[redacted]'
    if (after) to[field] = '[redacted]'
  }
  return [from, to]
}
