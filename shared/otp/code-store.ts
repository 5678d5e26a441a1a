import type { ErrorCode } from '../error-catalog.ts'
import type { Person } from '../identity/person.ts'
import type { Item } from '../platform/table/keys.ts'
import type { Table } from '../platform/table/table.ts'
import { create, replace, type Write } from '../platform/table/table.ts'
import { asCode, type CodeItem, codeKey } from './one-time-code.ts'

export async function findCode(table: Table, { email_hash }: Person): Promise<CodeItem | undefined> {
  return asCode(await table.get(codeKey(email_hash)))
}

/** Replaces the item if it has not changed since it was read. */
export function replaceCode(before: CodeItem | undefined, after: CodeItem, onFailure: ErrorCode): Write {
  const item = after as CodeItem & Item
  return before ? replace(item, { version: before.version }, onFailure) : create(item, onFailure)
}
