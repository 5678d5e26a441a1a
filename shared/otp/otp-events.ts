import type { Person } from '../identity/person.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

/** An e-mail stands in events as its keyed hash only (contract, 'Events named'). */
interface Told extends Person {
  id: string
  tenant_id: string
}

/** @param told its id is the message's */
export function otpRequested(told: Told): OutgoingEvent[] {
  return [{ type: 'otp.requested', version: 1, data: { ...told } }]
}

/** Once for a message, however often it was noted that it was handed over. */
export function otpDelivered(told: Told): OutgoingEvent[] {
  return [{ type: 'otp.delivered', version: 1, data: { ...told }, once: told.id }]
}

/** @param told its id is that of the verification, which is the session's where there is one */
export function otpVerified({ email_hash: _, ...told }: Told, success: boolean): OutgoingEvent[] {
  return [{ type: 'otp.verified', version: 1, data: { ...told, method: 'email', success } }]
}
