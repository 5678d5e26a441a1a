import { createHash } from 'node:crypto'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { type Item, keyOf } from '../platform/table/keys.ts'
import { inParallel, type Table } from '../platform/table/table.ts'
import type { CustomerData } from './customer.ts'

/** A row of an import. */
export interface ImportedCustomer {
  customer: CustomerData
  row: number
}

/** The attributes of an import that its rows need. */
interface ImportSource {
  tenant: string
  operationId: string
  schemaVersion: number
}

/** The maximum number of statements in one batch. */
const batchSize = 25

/**
 * Writes customers by e-mail. Of several rows with one e-mail, the last row of the latest import wins, in whatever
 * order they are written: each customer has a version, which is its import and row, and only a later one replaces it. Writing the
 * same rows again changes nothing.
 */
export async function writeCustomers(
  rows: readonly ImportedCustomer[],
  source: ImportSource,
  table: Table,
): Promise<void> {
  const [first = [], ...others] = batchesOf(lastByKey(rows.map((row) => itemOf(row, source))))
  const known = await table.insertMany(first)
  const replaceAll = (items: readonly Item[]) => inParallel(items, (item) => replaceOlder(item, table))
  await replaceAll(known)
  // Customers of a file are mostly new or mostly known. Inserting a known one costs a unit and has no effect.
  if (known.length * 2 > first.length) return replaceAll(others.flat())
  await inParallel(others, async (batch) => replaceAll(await table.insertMany(batch)))
}

/** Returns the id of a customer: a hash of the tenant and the normalized e-mail. */
export function customerId(tenant: string, email: string): string {
  return createHash('sha256')
    .update(JSON.stringify([tenant, email]))
    .digest('base64url')
}

async function replaceOlder(item: Item, table: Table): Promise<void> {
  const version = String(item.version)
  // A failed condition needs no handling: the stored row is a later one, or this one.
  await table.put({ item, condition: { absentOrBelow: { attribute: 'version', value: version } } })
}

function itemOf(
  { customer, row }: ImportedCustomer,
  { tenant, operationId, schemaVersion }: ImportSource,
): Item {
  return {
    ...keyOf(tenant, 'customer', customerId(tenant, customer.email)),
    created_at: timestamp(timeOf(operationId)),
    ...customer,
    schema_version: schemaVersion,
    version: `${operationId}#${String(row).padStart(12, '0')}`,
  }
}

function lastByKey(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [item.sk, item])).values()]
}

function batchesOf(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  )
}
