import { seal, unseal } from '../platform/base/secrets.ts'
import type { Task } from '../platform/events/outbox.ts'
import type { Decision } from '../platform/idempotency/decision.ts'
import type { RequestContext, WorkContext } from '../platform/request/context.ts'
import { type Item, type Key, keyOf, maxShards } from '../platform/table/keys.ts'
import { create } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { ResetStatus } from './login.ts'

/** A requested mail. Its address is sealed, and only its id leaves the table. */
interface ResetRequest extends Key {
  sealed_email: string
  task: Task
  /** Seconds since 1970. A later mail is no longer expected. */
  expires_at: number
}

const validSeconds = 3600

/**
 * Accepts a password reset request. Whether a user has the e-mail is checked only later, when the mail is sent. So
 * the response, its time and the work are the same for every e-mail.
 */
export async function requestReset(
  email: string,
  context: Pick<RequestContext, 'settings' | 'newId' | 'now' | 'clock' | 'derivedKey'>,
): Promise<Decision<ResetStatus>> {
  const { settings, newId, now, clock } = context
  const id = newId(maxShards)
  const key = await context.derivedKey('resets')
  const request: ResetRequest & Item = {
    ...resetKey(id, settings),
    sealed_email: seal(key, email, id, (length) => clock.randomBytes(length)),
    task: { queue: 'password_resets', body: id, group: settings['auth.publicTenant'] },
    expires_at: Math.floor(now() / 1000) + validSeconds,
  }
  const { status } = settings['passwordReset.shape']
  return { status, body: { message_id: id }, writes: [create(request)] }
}

/**
 * Sends the mail of a request. Removes the request afterwards, so a second delivery of the task finds nothing; only a
 * crash in between sends a second mail.
 * @throws the error that prevents sending now; the queue delivers the task again
 */
export async function sendReset(
  id: string,
  provider: IdentityProvider,
  {
    table,
    budget,
    settings,
    now,
    derivedKey,
  }: Pick<WorkContext, 'table' | 'budget' | 'settings' | 'now' | 'derivedKey'>,
): Promise<'sent' | 'expired'> {
  const key = resetKey(id, settings)
  const request = (await table.get(key)) as ResetRequest | undefined
  if (!request || request.expires_at < now() / 1000) return 'expired'
  await provider.sendReset(unseal(await derivedKey('resets'), request.sealed_email, id), budget)
  await table.transact([{ remove: key, condition: 'none' }])
  return 'sent'
}

function resetKey(id: string, settings: Settings): Key {
  return keyOf(settings['auth.publicTenant'], 'password_reset', id)
}
