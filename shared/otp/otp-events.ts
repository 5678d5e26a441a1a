import * as v from 'valibot'
import type { Person } from '../identity/person.ts'
import { defineEvent, event, subject } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

/** The common content of events. An e-mail appears only as its keyed hash. */
interface OtpSubject extends Person {
  id: string
  tenant_id: string
}

const personData = () => v.strictObject({ ...subject, user_id: v.string(), email_hash: v.string() })

export const OtpRequested = defineEvent({
  type: 'otp.requested',
  version: 1,
  summary: 'A one-time code was requested; data.id is the id of the message.',
  data: personData,
  carriers: ['mail'],
})

export const OtpDelivered = defineEvent({
  type: 'otp.delivered',
  version: 1,
  summary: 'The mail with a one-time code was delivered; data.id is the id of the message.',
  data: personData,
  carriers: ['mail'],
})

export const OtpVerified = defineEvent({
  type: 'otp.verified',
  version: 1,
  summary: 'A one-time code was submitted; if it was right, data.id is the id of the session.',
  data: () =>
    v.strictObject({
      ...subject,
      user_id: v.string(),
      method: v.literal('email'),
      success: v.boolean(),
    }),
  carriers: ['otp'],
})

/** @param message with the message's id */
export function otpRequested(message: OtpSubject): OutgoingEvent[] {
  return [event(OtpRequested, { ...message })]
}

/**
 * Returns the event of a delivered mail. Its id is derived from the message, so repeated records publish one event.
 */
export function otpDelivered(message: OtpSubject): OutgoingEvent[] {
  return [event(OtpDelivered, { ...message }, message.id)]
}

/** @param verification with the id of the verification, which is also the session's if there is one */
export function otpVerified(
  { email_hash: _, ...verification }: OtpSubject,
  success: boolean,
): OutgoingEvent[] {
  return [event(OtpVerified, { ...verification, method: 'email', success })]
}
