import * as v from 'valibot'
import type { Person } from '../identity/person.ts'
import { defineEvent, event } from '../platform/events/event-definition.ts'
import { subject } from '../platform/events/event-schemas.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

/** What an event says of a login: an e-mail stands in it as its keyed hash only. */
interface Told extends Person {
  /** Of the attempt. */
  id: string
  /** The user's; that of callers whom no token names where nobody was let in. */
  tenant_id: string
}

const aboutAttempt = () => v.strictObject({ ...subject, user_id: v.string(), email_hash: v.string() })

export const LoginSuccess = defineEvent({
  type: 'login.success',
  version: 1,
  summary: 'Somebody logged in with a password; data.id is the attempt.',
  data: aboutAttempt,
})

export const LoginFail = defineEvent({
  type: 'login.fail',
  version: 1,
  summary: 'Somebody was not let in; data.id is the attempt.',
  data: aboutAttempt,
})

/** The outcome of a login (contract, 'Events named'). */
export function loginEvent(outcome: 'success' | 'fail', told: Told): OutgoingEvent {
  return event(outcome === 'success' ? LoginSuccess : LoginFail, { ...told })
}
