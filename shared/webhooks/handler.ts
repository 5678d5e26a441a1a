import * as v from 'valibot'
import type { AlertCode, AlertSubject } from '../platform/base/log.ts'
import type { Effects } from '../platform/idempotency/decision.ts'
import type { Table } from '../platform/table/table.ts'
import { openPoint } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { tenantNamePattern } from '../settings/tenant-name.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** The dependencies of a handler. It decides and writes nothing. */
export interface HandlerContext {
  table: Table
  settings: Settings
  /** Milliseconds since 1970. */
  now: number
  /** Raises an alarm. */
  alert(code: AlertCode, about: AlertSubject): void
  /** The tenant that the event names; the public tenant if it names none. */
  tenant: string
  /** @throws ReportableError if a tenant is blocked */
  requireNotBlocked(tenant: string): Promise<void>
  /** Returns the service's key at the payment provider. */
  paymentsKey(): Promise<string>
  /** The correlation id of the event, or else of the request that delivered it. */
  correlationId: string
}

/**
 * The decision about an event: its effects; `stale` if it is a duplicate or older than what is stored; `ignored` if it
 * has no meaning here.
 */
export type Handled = Effects | 'stale' | 'ignored'

/**
 * Decides about an event. Events may arrive late, repeatedly or out of order; `occurred_at` is their time.
 * @throws the error that prevents handling now, such as a resource that is unknown or of another tenant
 */
export type Handler = (event: WebhookEvent, context: HandlerContext) => Promise<Handled>

/** Returns the data of every received event: the resource, and the tenant unless it is the public one. */
export const eventData = (settings: Settings) => ({
  id: v.string(),
  tenant_id: v.exactOptional(
    v.pipe(v.string(), v.regex(tenantNamePattern(settings)), openPoint('requests.tenantName')),
  ),
})

/** Returns the data of events without fields of their own. Further fields are allowed and ignored. */
export const resourceOnly = (settings: Settings) => v.looseObject(eventData(settings))
