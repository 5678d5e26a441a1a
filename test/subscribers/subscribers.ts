import type { Subscriber } from '#shared/subscribers/subscriber.ts'
import { idAt } from '#test/support/ids.ts'

const at = '2026-01-01T00:00:00.000Z'
const id = idAt(Date.parse(at))

/** Returns an active subscriber of the tenant acme. */
export function subscriberOf(changes: Partial<Subscriber> = {}): Subscriber {
  return {
    id,
    tenant_id: 'acme',
    url: 'https://hooks.example.com/events',
    events: ['*'],
    state: 'active',
    secrets: [{ sealed: 'one' }],
    created_at: at,
    updated_at: at,
    ...changes,
  }
}
