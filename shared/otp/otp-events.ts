import * as v from 'valibot'
import type { Person } from '../identity/person.ts'
import type { OutgoingEvent } from '../platform/events/event-definition.ts'
import { defineEvent, event, subject } from '../platform/events/event-definition.ts'

/** The common content of events. An e-mail appears only as its keyed hash. */
interface OtpSubject extends Person {
  id: string
  tenant_id: string
}

const aboutPerson = () => v.strictObject({ ...subject, user_id: v.string(), email_hash: v.string() })

export const OtpRequested = defineEvent({
  type: 'otp.requested',
  version: 1,
  summary: 'Somebody asked for a one-time code; data.id is the message.',
  data: aboutPerson,
})

export const OtpDelivered = defineEvent({
  type: 'otp.delivered',
  version: 1,
  summary: 'The mail with a one-time code was delivered; data.id is the message.',
  data: aboutPerson,
})

export const OtpVerified = defineEvent({
  type: 'otp.verified',
  version: 1,
  summary: 'Somebody came with a one-time code; data.id is the session where it was the right one.',
  data: () =>
    v.strictObject({
      ...subject,
      user_id: v.string(),
      method: v.literal('email'),
      success: v.boolean(),
    }),
})

/** @param told with the message's id */
export function otpRequested(told: OtpSubject): OutgoingEvent[] {
  return [event(OtpRequested, { ...told })]
}

/**
 * Returns the event of a delivered mail. Its id is derived from the message, so repeated records publish one event.
 */
export function otpDelivered(told: OtpSubject): OutgoingEvent[] {
  return [event(OtpDelivered, { ...told }, told.id)]
}

/** @param told with the id of the verification, which is also the session's if there is one */
export function otpVerified({ email_hash: _, ...told }: OtpSubject, success: boolean): OutgoingEvent[] {
  return [event(OtpVerified, { ...told, method: 'email', success })]
}
