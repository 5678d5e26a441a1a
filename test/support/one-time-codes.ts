import { digitsOf } from '#shared/otp/code-digits.ts'
import { findCode } from '#shared/otp/code-item.ts'
import { findMail, openMail } from '#shared/otp/code-mail.ts'
import type { Answer, Service } from './service.ts'

let emails = 0

/** Returns an address that is unique in this process. */
export const newEmail = () => `someone-${emails++}-${process.pid}@example.com`

type How = { from?: string; headers?: Record<string, string> }

export const requestCode = (service: Service, email: string, how: How = {}): Promise<Answer> =>
  service.call({ method: 'POST', path: '/otp/request', body: { email }, ...how })

export const verifyCode = (service: Service, email: string, code: string, how: How = {}): Promise<Answer> =>
  service.call({ method: 'POST', path: '/otp/verify', body: { email, code }, ...how })

/** Returns the content of an unsent message. */
export async function mailOf({ table, runtime }: Service, messageId: string) {
  const mail = await findMail(table, messageId)
  if (!mail?.sealed) throw new Error(`no mail waits under ${messageId}`)
  const { email } = openMail(await runtime.derivedKey('mails'), messageId, mail.sealed)
  const key = await runtime.derivedKey('one_time_codes')
  const open = (await findCode(table, mail))?.codes.find(({ id }) => id === mail.code_id)
  if (!open) throw new Error(`no code is open for ${messageId}`)
  return { email, code: digitsOf(key, { email, salt: open.salt }, open.digits) }
}

/** Requests a code, and reads it as its receiver would. */
export async function requestedCode(service: Service, email: string, how: How = {}): Promise<string> {
  const { json } = await requestCode(service, email, how)
  return (await mailOf(service, json.message_id)).code
}

/** Returns a wrong code. */
export const otherThan = (code: string) =>
  String((Number(code) + 1) % 10 ** code.length).padStart(code.length, '0')

/** Returns the cookies of a response: name to value. */
export function cookiesOf({ cookies = [] }: Answer): Record<string, string> {
  return Object.fromEntries(cookies.map((cookie) => (cookie.split(';')[0] ?? '').split(/=(.*)/s).slice(0, 2)))
}

/** Returns the headers that use the session of a verification. */
export function sessionHeaders(service: Service, verified: Answer): Record<string, string> {
  const cookies = cookiesOf(verified)
  const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${value}`)
  return { Cookie: pairs.join('; '), [service.settings['auth.csrf'].header]: cookies.csrf_token ?? '' }
}

/** Returns a session of a new user, ready to be used. */
export async function newSession(
  service: Service,
): Promise<{ headers: Record<string, string>; answer: Answer }> {
  const email = newEmail()
  const answer = await verifyCode(service, email, await requestedCode(service, email))
  return { headers: sessionHeaders(service, answer), answer }
}
