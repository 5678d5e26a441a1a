import type { SubscriberOperator } from '#bin/commands/subscribers/subscriber-operator.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { type KeyName, keyDerivation } from '#shared/platform/base/secrets.ts'
import { itemsOf } from '#shared/platform/listing/merge.ts'
import { type Prepared, prepareSubscriber } from '#shared/subscribers/prepare-subscriber.ts'
import { openSecrets } from '#shared/subscribers/signing-secret.ts'
import { findSubscriber, type SubscriberRef } from '#shared/subscribers/subscriber.ts'
import { type MovableClock, movableClock } from '#test/support/clocks.ts'
import { otherSettings } from '#test/support/settings.ts'
import { newTable, openTable } from '#test/support/tables.ts'

const eventTypes = ['order.created', 'order.placed', 'refund.succeeded']

/** The names that resolve, with their addresses. */
const addresses: Readonly<Record<string, string[]>> = {
  'hooks.example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'mixed.example.com': ['93.184.215.14', '10.0.0.1'],
}

export interface TestOperator extends SubscriberOperator {
  clock: MovableClock
  /** The version of the key that is current, those that exist, and how AWS names the fault for others. */
  versions: { current: string; existing: string[]; fault: string }
  /** Returns the secrets that sign the events of a subscriber now. */
  signingSecrets(ref: SubscriberRef): Promise<string[]>
  /** Returns the audit records of a tenant as `ACTION TARGET`. */
  audited(tenant: string): Promise<string[]>
}

/** Returns an operator of a deployment with at most two subscribers per tenant, on a new table. */
export async function subscriberOperator(): Promise<TestOperator> {
  const clock = movableClock(Date.parse('2026-03-01T12:00:00Z'))
  const table = openTable(await newTable())
  const deriveKey = keyDerivation()
  const versions = { current: 'version-1', existing: ['version-1'], fault: 'ResourceNotFoundException' }
  const versionedKey = async (name: KeyName, version = versions.current) => {
    if (!versions.existing.includes(version)) {
      const cause = Object.assign(new Error('not found'), { name: versions.fault })
      throw fail('DEPENDENCY.unavailable', { cause })
    }
    return { key: deriveKey(`the secret of ${version}, long enough`, name), version }
  }
  const prepare: SubscriberOperator['prepare'] = async (preparation): Promise<Prepared> => {
    const context = {
      settings: otherSettings,
      clock,
      versionedKey,
      eventTypes,
      resolve: async (name: string) => addresses[name] ?? Promise.reject(new Error('ENOTFOUND')),
    }
    // Lambda carries JSON.
    return JSON.parse(
      JSON.stringify(await prepareSubscriber(JSON.parse(JSON.stringify(preparation)), context)),
    )
  }
  return {
    table,
    clock,
    name: 'jane',
    versions,
    prepare,
    send: () => Promise.reject(new Error('not part of these tests')),
    async signingSecrets(ref) {
      const subscriber = await findSubscriber(table, ref)
      return subscriber ? openSecrets(subscriber, { versionedKey, now: () => clock.now() }) : []
    },
    async audited(tenant) {
      const lines: string[] = []
      for await (const { action, target, actor_id } of itemsOf(table, tenant, 'audit'))
        if (actor_id === 'jane') lines.push(`${action} ${target}`)
      return lines
    },
  }
}
