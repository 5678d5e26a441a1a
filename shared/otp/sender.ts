import { fail } from '../platform/base/failure.ts'
import type { Settings } from '../settings/register.ts'

/**
 * Returns the sender of mails.
 * @throws DEPENDENCY.unavailable if the deployment has none (setting mail.sender)
 */
export function senderOf(settings: Pick<Settings, 'mail.sender'>): NonNullable<Settings['mail.sender']> {
  const { 'mail.sender': sender } = settings
  if (!sender) throw fail('DEPENDENCY.unavailable', { details: { dependency: 'mail' }, causedByCaller: true })
  return sender
}
