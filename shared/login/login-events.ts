import type { Person } from '../identity/person.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

/** What an event says of a login: an e-mail stands in it as its keyed hash only. */
interface Told extends Person {
  /** Of the attempt. */
  id: string
  /** The user's; that of callers whom no token names where nobody was let in. */
  tenant_id: string
}

/** The outcome of a login (contract, 'Events named'). */
export function loginEvent(outcome: 'success' | 'fail', told: Told): OutgoingEvent {
  return { type: `login.${outcome}`, version: 1, data: { ...told } }
}
