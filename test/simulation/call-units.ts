import { marshall } from '@aws-sdk/util-dynamodb'
import type { Item, Key } from '#shared/platform/table/keys.ts'
import { type Range, type RangeRead, readCapacity } from '#shared/platform/table/table.ts'
import { itemBytes } from '#test/support/capacity.ts'

/** The part of a call that its units depend on. */
interface Read {
  name: string
  input: unknown
}

const bytesOfUnit = { write: 1024, read: 4096 }

/** Returns the capacity of each read of a call: of each key, or of the range. */
export function capacitiesRead({ name, input }: Read): string[] {
  if (name === 'read-range') return [readCapacity((input as Range).partition)]
  if (name === 'find-by-id') return [readCapacity(String(input))]
  return [input as Key | Key[]].flat().map(({ pk }) => readCapacity(pk))
}

/** Returns the units of one of the reads of a call. @param index which of `capacitiesRead` */
export function readUnits({ name, input }: Read, result: unknown, index: number): number {
  // The index is read eventually consistently.
  if (name === 'find-by-id') return 0.5
  if (name === 'get') return unitsOf('read', bytesOf(result as Item | undefined))
  // A count has no items. It takes at least one unit.
  const { items = [] } = result as Partial<RangeRead>
  if (name === 'read-range')
    return unitsOf(
      'read',
      items.reduce((sum, item) => sum + bytesOf(item), 0),
    )
  const { pk, sk } = (input as Key[])[index] as Key
  return unitsOf('read', bytesOf(items.find((item) => item.pk === pk && item.sk === sk)))
}

/** Returns the units of a call that reads. */
export function unitsRead(call: Read, result: unknown): number {
  return capacitiesRead(call).reduce((sum, _, index) => sum + readUnits(call, result, index), 0)
}

export function writeUnits(item: Item | undefined): number {
  return unitsOf('write', bytesOf(item))
}

function bytesOf(item: Item | undefined): number {
  return item ? itemBytes(marshall(item, { removeUndefinedValues: true })) : 0
}

function unitsOf(kind: 'write' | 'read', bytes: number): number {
  return Math.max(1, Math.ceil(bytes / bytesOfUnit[kind]))
}
