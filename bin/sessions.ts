import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { revokeSession, type SessionItem } from '#shared/platform/identity/session.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { needed, run } from './command.ts'
import { deployedStack, openTable, stackUsage } from './deployment.ts'
import { itemsOf } from './entity-records.ts'
import { auditOfOperator } from './operator.ts'

const usage = `usage: npm run -s sessions -- --tenant T [--revoke SESSION_ID] [--stack NAME]
Prints the sessions of a tenant that are not over, one JSON line each; or ends one of them at once.
${stackUsage}`

/** The public fields of a session: everything but its secret. */
export type SessionLine = Omit<SessionItem, 'pk' | 'sk' | 'secret_hash' | 'expires_at'>

/** Yields the active sessions of a tenant, oldest first. */
export async function* list(table: Table, tenant: string, clock: Clock): AsyncGenerator<SessionLine> {
  for await (const item of itemsOf(table, tenant, 'session')) {
    const { pk: _pk, sk: _sk, secret_hash: _hash, expires_at: _end, ...line } = item as unknown as SessionItem
    if (line.valid_until >= clock.now()) yield line
  }
}

/** Ends a session at once. @throws Error if no such session is active */
export async function revoke(table: Table, clock: Clock, tenant: string, id: string): Promise<void> {
  const entry = { action: 'session.revoke', target: `session/${id}` }
  const refusal = await table.transact([revokeSession(tenant, id), auditOfOperator(tenant, entry, clock)])
  if (refusal) throw new Error('there is no such session, or it is not active')
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { tenant: text, stack: text, revoke: text } })
  const tenant = needed(values.tenant, 'tenant')
  const id = values.revoke
  const table = openTable(await deployedStack(values.stack))
  if (id !== undefined) return revoke(table, systemClock, tenant, id)
  for await (const line of list(table, tenant, systemClock)) console.log(JSON.stringify(line))
}

if (import.meta.main) await run(usage, main)
