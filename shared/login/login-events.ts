import * as v from 'valibot'
import type { Person } from '../identity/person.ts'
import { defineEvent, event, subject } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

/** The content of a login event. It holds an e-mail only as its keyed hash. */
export interface LoginSubject extends Person {
  /** The id of the attempt. */
  id: string
  /** The user's tenant; the public tenant if the login failed. */
  tenant_id: string
  /** The `sub` of the token; the id of the address if the login failed. */
  user_id: string
}

const loginData = (user: string) => () =>
  v.strictObject({ ...subject, user_id: v.pipe(v.string(), v.description(user)), email_hash: v.string() })

export const LoginSuccess = defineEvent({
  type: 'login.success',
  version: 1,
  summary: 'A user logged in with a password; data.id is the id of the attempt.',
  data: loginData('The sub of the token.'),
  carriers: ['login'],
})

export const LoginFail = defineEvent({
  type: 'login.fail',
  version: 1,
  summary: 'A login failed; data.id is the id of the attempt.',
  data: loginData('An id of the e-mail address, as in the events of one-time codes.'),
  carriers: ['login'],
})

/** Returns the event of a login's outcome. */
export function loginEvent(outcome: 'success' | 'fail', attempt: LoginSubject): OutgoingEvent {
  return event(outcome === 'success' ? LoginSuccess : LoginFail, { ...attempt })
}
