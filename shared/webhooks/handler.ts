import * as v from 'valibot'
import type { Effects } from '../platform/http/reply.ts'
import type { Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** What a handler may use. It decides and writes nothing. */
export interface Handling {
  table: Table
  settings: Settings
  /** Milliseconds since 1970. */
  now: number
  /** The tenant that the event names, or the one of what no tenant is named for. */
  tenant: string
}

/** Decides what an event changes. It may come late, again, or before others: `occurred_at` says when it was. */
export type Handler = (event: WebhookEvent, handling: Handling) => Promise<Effects>

/** What the data of every received event holds: the resource, and the tenant unless it is the public one's. */
export const received = { id: v.string(), tenant_id: v.exactOptional(v.string()) }

/** The data of the events that say nothing but what they are about. More is allowed and not looked at. */
export const aboutOne = () => v.looseObject(received)
