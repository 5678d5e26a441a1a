import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { personOf } from '../identity/person.ts'
import { fail } from '../platform/base/failure.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { Decision } from '../platform/idempotency/decision.ts'
import { sessionOf, startSession } from '../platform/identity/session.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { ok, rejection } from '../platform/request/endpoint.ts'
import { maxShards } from '../platform/table/keys.ts'
import { codeAttempt, sourceHash } from './attempt.ts'
import { digitsOf } from './code-digits.ts'
import { asCodeItem, type CodeItem, findCode, type OpenCode, replaceCode } from './code-item.ts'
import { checkCode } from './one-time-code.ts'
import { otpVerified } from './otp-events.ts'

/**
 * Decides whether a code is right, and starts a session if it is. Every wrong code gets the same response after the
 * same read and a write of the same item, whether or not the address ever requested one. Each attempt is written on
 * the condition that no other was written since the read: of many concurrent attempts one can succeed, and all are
 * counted.
 * @param email normalized
 */
export async function verifyCode(
  { email, code }: { email: string; code: string },
  context: Pick<RequestContext, 'settings' | 'table' | 'derivedKey' | 'now' | 'newId' | 'source'>,
): Promise<Decision<{ session_id: string }>> {
  const { settings, table, derivedKey, now, newId } = context
  const person = await personOf(email, settings, derivedKey)
  const key = await derivedKey('one_time_codes')
  const tenant_id = settings['auth.publicTenant']
  const id = newId(maxShards)
  const session = sessionOf(await derivedKey('sessions'), {
    session_id: id,
    login: [email, code],
    tenant_id,
    user_id: person.user_id,
    until: now() + settings['otp.sessionSeconds'] * 1000,
  })

  const source = await sourceHash(person, context)
  const isRight = ({ salt, digits }: Pick<OpenCode, 'salt' | 'digits'>) =>
    equalTexts(key, code, digitsOf(key, { email, salt }, digits))

  const decide = (before: CodeItem | undefined): Decision<{ session_id: string }> => {
    const attempt = codeAttempt(before, source, context)
    const { success, after } = checkCode(before, { person, isRight }, attempt)
    const effects = {
      writes: [replaceCode(before, after, 'CODE.invalid'), ...(success ? [startSession(session)] : [])],
      events: otpVerified({ id, tenant_id, ...person }, success),
      onConflict: async (existing: Parameters<typeof asCodeItem>[0]) => decide(asCodeItem(existing)),
    }
    return success ? ok({ session_id: id }, effects) : rejection(fail('CODE.invalid'), effects)
  }
  return decide(await findCode(table, person))
}

/** Compares two texts of any length in a time that reveals nothing about them. */
function equalTexts(key: KeyObject, one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(keyedHash(key, one)), Buffer.from(keyedHash(key, other)))
}
