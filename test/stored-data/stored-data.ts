import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { type Item, ownerOf } from '#shared/platform/table/keys.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { movableClock } from '#test/support/clocks.ts'
import { type Service, startService } from '#test/support/service.ts'
import type { Identity } from '#test/support/settings.ts'
import { newMemoryTable } from '#test/support/tables.ts'

/** A request with the credentials of its caller: a token is signed for an identity, an API key is a header. */
export interface StoredRequest {
  as?: Identity
  method: string
  path: string
  headers: Record<string, string>
  body?: unknown
}

interface StoredResponse {
  status: number
  body?: string
  /** The value of `Idempotency-Status`. */
  replay?: string
}

/** What a release wrote, and its responses to requests that read it or repeat what wrote it. */
export interface StoredData {
  version: string
  /** The time of the responses, in milliseconds since 1970. */
  at: number
  /** The items of the table, as DynamoDB exports them. */
  items: Record<string, AttributeValue>[]
  files: Record<string, { text: string; mediaType: string }>
  exchanges: { request: StoredRequest; response: StoredResponse }[]
}

/** Starts the service of this version on data that a release wrote. */
export async function serviceOn({
  at,
  items,
  files,
}: Omit<StoredData, 'version' | 'exchanges'>): Promise<Service> {
  const tableName = newMemoryTable(storeOf(items))
  const clock = movableClock(at)
  const service = await startService({ tableName, clock })
  for (const [name, { text, mediaType }] of Object.entries(files))
    service.files.set(name, { bytes: Buffer.from(text), mediaType })
  return service
}

function storeOf(items: StoredData['items']): MemoryStore {
  const store = new MemoryStore()
  for (const item of items) store.put({ item: unmarshall(item) as Item, condition: 'none' })
  return store
}

export async function responseOf(service: Service, request: StoredRequest): Promise<StoredResponse> {
  const { status, body, headers } = await service.call(request)
  const replay = headers['Idempotency-Status']
  return { status, ...(body !== undefined && { body }), ...(replay !== undefined && { replay }) }
}

/** Returns the kinds of items with their attributes and the types of these, such as `order.amount_minor: N`. */
export function shapeOf(items: StoredData['items']): string[] {
  const found = items.flatMap((item) => {
    const { kind: entity } = ownerOf(item.pk?.S ?? '')
    return Object.entries(item).map(([name, value]) => `${entity}.${name}: ${Object.keys(value)[0]}`)
  })
  return [...new Set(found)].sort()
}

export const exported = (items: readonly Item[]): StoredData['items'] =>
  items.map((item) => marshall(item, { removeUndefinedValues: true }))
