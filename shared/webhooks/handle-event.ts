import { timestamp } from '../platform/base/clock.ts'
import { traceOf } from '../platform/base/correlation.ts'
import { ReportableError } from '../platform/base/failure.ts'
import type { AlertCode, AlertSubject } from '../platform/base/log.ts'
import { commitDecision } from '../platform/idempotency/commit-decision.ts'
import type { Revisable } from '../platform/idempotency/decision.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { handledAs, requireShape } from './event-shape.ts'
import type { Handler } from './handler.ts'
import { type InboxItem, inboxKeyOf, markHandled, recordFailedAttempt } from './inbox.ts'
import { type ReceivedEvent, receivedEvents } from './received-events.ts'
import { stripeHandlers } from './stripe-handlers.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** The effects of an event, and the state in which it ends. */
interface EventOutcome extends Revisable<EventOutcome> {
  state: 'handled' | 'ignored'
}

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
  const correlation = { id: item.correlation_id, trace: traceOf(event) }
  const isOfStripe = item.sk === 'stripe'
  const line = { eventId: event.event_id, eventType: event.type, correlation }
  try {
    const now = clock.now()
    const handler = isOfStripe ? stripeHandlers.get(event.type) : handlerOf(event, events, settings)
    const tenant = tenantOfEvent(event, settings)
    const alert = (code: AlertCode, about: AlertSubject) => log.alert(code, correlation, about)
    const requireNotBlocked = async (owner: string) => {
      if (await isBlocked(owner, table)) throw new ReportableError('the tenant is blocked')
    }
    const paymentsKey = () => secret('payments')
    const correlationId = correlation.id
    const context = { table, settings, now, alert, tenant, requireNotBlocked, paymentsKey, correlationId }
    // The tenant of an event of Stripe is that of its refund.
    if (handler && !isOfStripe) await requireNotBlocked(tenant)
    const decide = async (): Promise<EventOutcome> => {
      const decision = (await handler?.(event, context)) ?? 'ignored'
      const effects = typeof decision === 'string' ? {} : decision
      const state = decision === 'ignored' ? 'ignored' : 'handled'
      // Another event of a batch may change the same resource at the same time: that is no failed attempt.
      return { ...effects, state, onConflict: decide }
    }
    const committed = await commitDecision(
      { table, clock, caller: undefined, correlation },
      await decide(),
      ({ state: result }) => ({ result, others: [markHandled(item, result, timestamp(now))] }),
    )
    const state = 'result' in committed ? committed.result : 'handled'
    if (state === 'ignored') log.event({ code: 'EVENT_IGNORED', ...line })
    return state
  } catch (fault) {
    log.event({ code: 'EVENT_FAILED', ...line, fault })
    // The log has the error already, and the queue repeats the event in any case.
    await table.update(recordFailedAttempt(item, fault, timestamp(clock.now()))).catch(() => undefined)
    throw fault
  }
}

/**
 * Returns the handler of an event of a partner; undefined for a type without one.
 * @throws Error for an unknown version of a handled type: marking it as handled would lose it, and another version's
 * handler might misread it. It waits in the dead-letter queue until its version is known.
 */
function handlerOf(
  event: WebhookEvent,
  events: readonly ReceivedEvent[],
  settings: Settings,
): Handler | undefined {
  const { versions, own } = handledAs(event, events)
  if (!own && versions.length > 0) throw new ReportableError('an event has an unknown version')
  if (own) requireShape(event, own.definition, settings)
  return own?.handler
}

/** Returns the tenant that an event names, whose form its shape decides; the public one if it names none. */
function tenantOfEvent({ data: { tenant_id } }: WebhookEvent, settings: Settings): string {
  return typeof tenant_id === 'string' ? tenant_id : settings['auth.publicTenant']
}
