import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import type { ImportStep } from '#shared/imports/import.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { type Item, keyOf, ownerOf } from '#shared/platform/table/keys.ts'
import { openSecrets } from '#shared/subscribers/signing-secret.ts'
import { asSubscriber } from '#shared/subscribers/subscriber.ts'
import { versionedKey } from '#test/simulation/delivery-world.ts'
import { MemoryStore, type StreamRecord } from '#test/simulation/memory-store.ts'
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

/** The message of a queue, or the input of a step of the import workflow. */
export interface WaitingMessage {
  receiver: TaskQueue | ImportStep
  body: string
}

/** What a release wrote, and its responses to requests that read it, repeat what wrote it, or depend on it. */
export interface StoredData {
  version: string
  /** The time of the responses, in milliseconds since 1970. */
  at: number
  /** The items of the table, as DynamoDB exports them. */
  items: Record<string, AttributeValue>[]
  files: Record<string, { text: string; mediaType: string }>
  exchanges: { request: StoredRequest; response: StoredResponse }[]
  /** The secrets with which subscribers verify their events. The table has them encrypted. */
  subscribers: { tenant: string; id: string; secret: string }[]
  /** What waited in queues and workflows, with its effects. */
  messages: (WaitingMessage & { effects: string[] })[]
}

/** Starts the service of this version on data that a release wrote. @param onChange called for each change */
export async function serviceOn(
  { at, items, files }: Pick<StoredData, 'at' | 'items' | 'files'>,
  onChange: (change: StreamRecord) => void = () => {},
): Promise<Service> {
  const tableName = newMemoryTable(storeOf(items, onChange))
  const clock = movableClock(at)
  // It reads the blocked tenants of the table.
  const service = await startService({ tableName, clock, remembers: true })
  for (const [name, { text, mediaType }] of Object.entries(files))
    service.files.set(name, { bytes: Buffer.from(text), mediaType })
  return service
}

function storeOf(items: StoredData['items'], onChange: (change: StreamRecord) => void): MemoryStore {
  let isFilled = false
  const store = new MemoryStore({ onRecord: (change) => isFilled && onChange(change) })
  for (const item of items) store.put({ item: unmarshall(item) as Item, condition: 'none' })
  isFilled = true
  return store
}

export async function responseOf(service: Service, request: StoredRequest): Promise<StoredResponse> {
  const { status, body, headers } = await service.call(request)
  const replay = headers['Idempotency-Status']
  return { status, ...(body !== undefined && { body }), ...(replay !== undefined && { replay }) }
}

/** Returns the secrets that sign the events of a subscriber now. */
export async function secretsOf(
  { table, runtime }: Service,
  { tenant, id }: { tenant: string; id: string },
): Promise<string[]> {
  const item = (await table.get(keyOf(tenant, 'subscriber', id))) as Item
  return openSecrets(asSubscriber(item), {
    now: () => runtime.clock.now(),
    versionedKey: async (name, version = 'v1') => versionedKey(name, version),
  })
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
