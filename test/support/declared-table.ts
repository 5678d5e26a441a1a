import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import { ownerOf, type PartitionKind } from '#shared/platform/table/keys.ts'
import type { TableCall, TableUse } from '#shared/platform/table/table.ts'
import { type Change, keyOfChange, type Table } from '#shared/platform/table/table.ts'

/** Called with each access to the table, before it. */
type OnAccess = (call: TableCall, kind: string) => void

/** Returns a table that reports what is accessed, by the calls that permissions distinguish. */
export function watchedTable(table: Table, onAccess: OnAccess): Table {
  const access = (call: TableCall, pk: string) => onAccess(call, ownerOf(pk).kind)
  const change = (one: Change) => access(callOf(one), keyOfChange(one).pk)
  return {
    async get(key) {
      access('get', key.pk)
      return table.get(key)
    },
    async getMany(keys) {
      for (const { pk } of keys) access('getMany', pk)
      return table.getMany(keys)
    },
    async readRange(range) {
      access('query', range.partition)
      return table.readRange(range)
    },
    async findById(entity, id) {
      onAccess('find', entity)
      return table.findById(entity, id)
    },
    async transact(changes) {
      for (const one of changes) change(one)
      return table.transact(changes)
    },
    async put(put) {
      change(put)
      return table.put(put)
    },
    async update(update) {
      change(update)
      return table.update(update)
    },
    async insertMany(items) {
      for (const { pk } of items) access('insert', pk)
      return table.insertMany(items)
    },
  }
}

/** Returns a table that adds what is accessed to the accesses of a function, if they are collected. */
export function collectedTable(table: Table, name: string, all: Map<string, Set<string>> | undefined): Table {
  if (!all) return table
  const accesses = all.get(name) ?? new Set()
  all.set(name, accesses)
  return watchedTable(table, (call, kind) => accesses.add(`${call} ${kind}`))
}

function callOf(change: Change): TableCall {
  if ('item' in change) return 'put'
  if ('update' in change) return 'update'
  return 'remove' in change ? 'delete' : 'check'
}

/** Returns the table with the permissions of a function that has no route. Its name is in subscriptions.ts or steps.ts. */
export function declaredTable(name: string, table: Table): Table {
  const subscription = subscriptions.find((one) => one.name === name)
  const use = (subscription ?? steps.find((one) => one.name === name))?.table ?? {}
  const file = `functions/${subscription ? 'subscriptions' : 'steps'}.ts`
  return watchedTable(table, (call, kind) => checkDeclared({ name, use, file }, call, kind))
}

/** Returns a runtime whose tables have the permissions of a function that has no route. */
export function declaredRuntime<R extends Runtime>(name: string, runtime: R): R {
  return {
    ...runtime,
    openTable: (...opening) => declaredTable(name, runtime.openTable(...opening)),
  }
}

/** A function or an operation, with what it declares to do with the table. */
export interface Declaration {
  name: string
  use: TableUse
  /** The file of the declaration. */
  file: string
}

/** @throws Error that says what to add, if an access is not declared: on AWS, the role of the function denies it */
export function checkDeclared({ name, use, file }: Declaration, call: TableCall, kind: string): void {
  if (use[call]?.includes(kind as PartitionKind)) return
  throw new Error(
    `${name} may not ${call} items of the kind ${kind} in the table. If it has to, add '${kind}' to \`table.${call}\` in ${file}.`,
  )
}
