import { timestamp } from '../platform/base/clock.ts'
import { traceOf } from '../platform/base/correlation.ts'
import { ReportableError } from '../platform/base/failure.ts'
import type { AlertCode, AlertSubject } from '../platform/base/log.ts'
import { commitDecision } from '../platform/idempotency/commit-decision.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { tenantNamePattern } from '../settings/tenant-name.ts'
import type { Handler } from './handler.ts'
import { type InboxItem, inboxKeyOf, markHandled, recordFailure } from './inbox.ts'
import { type ReceivedEvent, receivedEvents } from './received-events.ts'
import { stripeHandlers } from './stripe-handlers.ts'
import { impliedVersion, type WebhookEvent } from './webhook-event.ts'

/**
 * Handles a received event once: its effects and its new state are one transaction. An event without meaning here, such
 * as one of a type without a handler, is kept and counted. That of a blocked tenant waits in the dead-letter queue.
 * @param task names the event; see `inboxKeyOf`
 * @param events the handled events of partners; each version has its own handler
 * @throws the error that prevents handling now; the queue delivers the task again
 */
export async function handleEvent(
  task: string,
  {
    table,
    clock,
    settings,
    log,
    isBlocked,
    secret,
  }: Pick<WorkContext, 'table' | 'clock' | 'settings' | 'log' | 'isBlocked' | 'secret'>,
  events: readonly ReceivedEvent[] = receivedEvents,
): Promise<'handled' | 'ignored' | 'known'> {
  const item = (await table.get(inboxKeyOf(task))) as InboxItem | undefined
  if (!item) throw new ReportableError('an event was queued that is not in the inbox')
  if (item.state !== 'received') return 'known'
  const event = JSON.parse(item.event) as WebhookEvent
  const correlation = { id: item.correlation_id, trace: traceOf(event, settings) }
  const isOfStripe = item.sk === 'stripe'
  // Those of Stripe are counted as one, because a deployer may choose types that have no meaning here.
  const isKnownType = !isOfStripe && events.some(({ definition }) => definition.type === event.type)
  const line = { eventId: event.event_id, eventType: event.type, isKnownType, correlation }
  try {
    const now = clock.now()
    const tenant = tenantOf(event, settings)
    const alert = (code: AlertCode, about: AlertSubject) => log.alert(code, correlation, about)
    const requireNotBlocked = async (owner: string) => {
      if (await isBlocked(owner, table)) throw new ReportableError('the tenant is blocked')
    }
    const paymentsKey = () => secret('payments')
    const correlationId = correlation.id
    const context = { table, settings, now, alert, tenant, requireNotBlocked, paymentsKey, correlationId }
    const handler = isOfStripe ? stripeHandlers.get(event.type) : handlerOf(event, events)
    if (handler) await requireNotBlocked(tenant)
    const decision = (await handler?.(event, context)) ?? 'ignored'
    const effects = typeof decision === 'string' ? {} : decision
    const state = decision === 'ignored' ? 'ignored' : 'handled'
    await commitDecision({ table, clock, caller: undefined, correlation }, effects, () => ({
      result: state,
      others: [markHandled(item, state, timestamp(now))],
    }))
    if (state === 'ignored') log.event({ code: 'EVENT_IGNORED', ...line })
    return state
  } catch (fault) {
    log.event({ code: 'EVENT_FAILED', ...line, fault })
    // The log has the error already, and the queue repeats the event in any case.
    await table.update(recordFailure(item, fault, timestamp(clock.now()))).catch(() => undefined)
    throw fault
  }
}

/**
 * @returns undefined for a type without a handler
 * @throws Error for an unknown version of a handled type: marking it as handled would lose it, and another version's
 * handler might misread it. It waits in the dead-letter queue until its version is known.
 */
function handlerOf(
  { type, version = impliedVersion }: WebhookEvent,
  events: readonly ReceivedEvent[],
): Handler | undefined {
  const versions = events.filter(({ definition }) => definition.type === type)
  const known = versions.find(({ definition }) => definition.version === version)
  if (!known && versions.length > 0) throw new ReportableError('an event has an unknown version')
  return known?.handler
}

function tenantOf({ data }: WebhookEvent, settings: Settings): string {
  const { tenant_id } = data
  if (tenant_id === undefined) return settings['auth.publicTenant']
  if (typeof tenant_id !== 'string' || !tenantNamePattern(settings).test(tenant_id)) {
    throw new ReportableError('data.tenant_id is not a tenant name')
  }
  return tenant_id
}
