import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { failField } from '#shared/platform/base/failure.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { misfitOf } from '#shared/webhooks/event-shape.ts'
import { inboxKey, newInboxItem } from '#shared/webhooks/inbox.ts'
import { correlationIdOf } from '#shared/webhooks/webhook-event.ts'
import { route } from './route.ts'

/** The largest stored event, in bytes. Numbers such as 1e20 take several times their space in the request. */
const maxStoredBytes = 384 * 1024

export const endpoint = defineEndpoint(route, {
  async decide({ body, headers }, { settings, correlation, now, table }) {
    const { idHeader } = settings['webhooks.scheme']
    if (headers[idHeader] !== body.event_id) {
      throw failField('VALIDATION.field.format', 'event_id', {
        reason: 'other_than_signed',
        actual: body.event_id.length,
      })
    }
    // A sender with a wrong clock must not make all later events of the same resource stale. Its clock may be as wrong as
    // for the time of sending.
    const latest = now() + settings['webhooks.windowSeconds'] * 1000
    if (Date.parse(body.occurred_at) > latest) {
      const problem = { reason: 'in_future', not_after: timestamp(latest), actual: body.occurred_at }
      throw failField('VALIDATION.date.range', 'occurred_at', problem)
    }
    const size = Buffer.byteLength(JSON.stringify(body))
    if (size > maxStoredBytes) {
      const problem = { reason: 'too_large', max: maxStoredBytes, actual: size }
      throw failField(settings['limits.tooLarge'], 'body', problem, { http: 413 })
    }
    const misfit = misfitOf(body, settings)
    // A duplicate of an event that was stored as one of an unknown version, or under other settings, is no other event.
    if (misfit && !(await table.get(inboxKey(body.event_id)))) throw misfit
    const status = route.reply.status(settings)
    const correlationId = correlationIdOf(body, settings) ?? correlation.id
    return {
      status,
      writes: [newInboxItem(body, correlationId, now(), settings)],
      onConflict: async () => ({ status }),
    }
  },
})

export const handler = httpFunction(endpoint, { secret: readSecret })
