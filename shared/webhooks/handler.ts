import * as v from 'valibot'
import type { Effects } from '../platform/idempotency/effects.ts'
import type { Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** The dependencies of a handler. It decides and writes nothing. */
export interface HandlerContext {
  table: Table
  settings: Settings
  /** Milliseconds since 1970. */
  now: number
  /** The tenant that the event names; the public tenant if it names none. */
  tenant: string
}

/**
 * Decides the effects of an event. Events may arrive late, repeatedly or out of order; `occurred_at` is their time.
 */
export type Handler = (event: WebhookEvent, context: HandlerContext) => Promise<Effects<never>>

/** The data of every received event: the resource, and the tenant unless it is the public one. */
export const eventData = { id: v.string(), tenant_id: v.exactOptional(v.string()) }

/** The data of events without fields of their own. Further fields are allowed and ignored. */
export const resourceOnly = () => v.looseObject(eventData)
