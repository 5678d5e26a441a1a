import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import {
  changeSubscriber,
  findSubscriber,
  type SealedSecret,
  type SubscriberRef,
  validSecrets,
} from '#shared/subscribers/subscriber.ts'
import type { Report } from '../../cli/output.ts'
import { auditOfSubscriber, prepare, type SubscriberOperator } from './subscriber-operator.ts'

/** The numbers of subscribers of all tenants, and those whose secrets cannot be opened any more. */
interface ReEncrypted {
  subscribers: number
  re_encrypted: number
  unreadable: SubscriberRef[]
}

/**
 * Encrypts the secrets of all subscribers with the current version of their key. Those that are encrypted
 * with it already are left as they are, so an interrupted run is repeated.
 */
export async function reEncrypt(
  operator: SubscriberOperator,
  report: Report = () => {},
): Promise<ReEncrypted> {
  const done: ReEncrypted = { subscribers: 0, re_encrypted: 0, unreadable: [] }
  for (const { sk: subscriber, tenant } of await pendingEntries(operator.table, 'registered-subscriber')) {
    const ref = { tenant: String(tenant), subscriber }
    const result = await reEncryptOne(operator, ref)
    done.subscribers += 1
    if (result === 'changed') done.re_encrypted += 1
    if (result === 'unreadable') done.unreadable.push(ref)
    report(`${done.re_encrypted} of ${done.subscribers} subscribers re-encrypted`)
  }
  return done
}

async function reEncryptOne(
  operator: SubscriberOperator,
  ref: SubscriberRef,
): Promise<'changed' | 'unchanged' | 'unreadable'> {
  const { table, clock } = operator
  for (;;) {
    const subscriber = await findSubscriber(table, ref)
    if (!subscriber) return 'unchanged'
    const now = clock.now()
    const owner = { id: subscriber.id, tenant_id: subscriber.tenant_id }
    const valid = validSecrets(subscriber, now)
    const { resealed } = await prepare(operator, { reseal: valid.map(({ sealed }) => ({ owner, sealed })) })
    const secrets: SealedSecret[] = []
    for (const [at, secret] of valid.entries()) {
      const sealed = resealed[at]
      if (typeof sealed !== 'string') return 'unreadable'
      secrets.push({ ...secret, sealed })
    }
    if (secrets.every(({ sealed }, at) => sealed === valid[at]?.sealed)) return 'unchanged'
    const changes = [
      changeSubscriber(subscriber, { secrets }, now),
      auditOfSubscriber(operator, ref, 'subscriber.re_encrypt'),
    ]
    // Another process may have changed the subscriber meanwhile.
    if (!(await table.transact(changes))) return 'changed'
  }
}
