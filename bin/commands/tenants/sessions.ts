import { type Clock, timestamp } from '#shared/platform/base/clock.ts'
import { revokeSession, type SessionItem } from '#shared/platform/identity/session.ts'
import { itemsOf } from '#shared/platform/listing/merge.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'

/** The public fields of a session: everything but its secret. Times are ISO 8601. */
export type SessionLine = Omit<SessionItem, 'pk' | 'sk' | 'secret_hash' | 'expires_at' | 'valid_until'> & {
  valid_until: string
}

/** Yields the active sessions of a tenant, oldest first. */
export async function* listSessions(table: Table, tenant: string, clock: Clock): AsyncGenerator<SessionLine> {
  for await (const item of itemsOf(table, tenant, 'session')) {
    const {
      pk: _pk,
      sk: _sk,
      secret_hash: _hash,
      expires_at: _end,
      ...session
    } = item as unknown as SessionItem
    if (session.state !== 'active' || session.valid_until < clock.now()) continue
    yield { ...session, valid_until: timestamp(session.valid_until) }
  }
}

/** Ends a session at once. @throws Error if no such session is active */
export async function endSession(operator: Operator, tenant: string, id: string): Promise<void> {
  const audited = { action: 'session.revoke', target: `session/${id}` }
  const audit = auditOfOperator(operator, tenant, audited)
  if (await operator.table.transact([revokeSession(tenant, id), audit]))
    throw new Error('there is no such session, or it is not active')
}
