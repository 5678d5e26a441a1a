import { type PartitionKind, singleItems } from '#shared/platform/table/keys.ts'

/**
 * What a restored table has of a kind of items:
 *
 * - `now`: those of the old table as they stand; what the old table lacks is removed
 * - `since`: also those that the old table has recorded since the time of the restore
 * - `erasures`: also the tombstones of what was erased since
 * - `restored`: those of the time of the restore; what was written since is undone, which is the purpose of a restore
 */
type Way = 'now' | 'since' | 'erasures' | 'restored'

/** The way of each kind. A new kind is one line. */
const ways: Readonly<Record<PartitionKind, Way>> = {
  // Who has access is decided by people: a key or session that was ended, and a tenant that was blocked, must not come back,
  // and callers cannot get the secret of a new key a second time.
  api_key: 'now',
  session: 'now',
  'blocked-tenants': 'now',
  // An account that was connected or lost since: refunds go to no account of before.
  account: 'now',
  account_owner: 'now',
  // A court does not ask for the state of a backup. The item that counts the holds goes with them.
  legal_hold: 'now',
  // What happened, happened: no audit record may be lost.
  audit: 'since',
  // Nobody may read again what was erased. The rest of the orders is what a restore undoes.
  order: 'erasures',
  // Subscribers get nothing twice, at the addresses and with the secrets that they have agreed on since.
  subscriber: 'now',
  subscriber_health: 'now',
  'registered-subscriber': 'now',
  waiting_delivery: 'now',
  delivery: 'since',
  'failed-delivery': 'since',

  // The business data, with what is derived from it.
  order_cart: 'restored',
  cart: 'restored',
  cart_line: 'restored',
  code: 'restored',
  code_lock: 'restored',
  customer: 'restored',
  verification: 'restored',
  // Refunds since then are booked again from the records of the provider, which knows what was paid: see
  // `refunds reconcile --adopt`. A claim without its refund would keep the payout from that.
  refund: 'restored',
  charge_lock: 'restored',
  ledger: 'restored',
  payout: 'restored',
  'pending-saga': 'restored',
  'unsettled-refund': 'restored',
  'backlogged-tenants': 'restored',
  // The comparison repeats the days since then.
  reconciled: 'restored',
  // Records of requests would answer 201 for an order that is gone. Those of refunds are replaced by the adoption.
  idempotency: 'restored',
  batch: 'restored',
  // Events since then are sent again by their senders. Those that were handled since are queued again by a redrive of
  // `tasks.enqueue`: their duplicates insert nothing.
  inbox: 'restored',
  // Imports since then are undone with their rows.
  operation: 'restored',
  operation_count: 'restored',
  file_reservation: 'restored',
  import_chunk: 'restored',
  import_rate: 'restored',
  'pending-operation': 'restored',
  'failed-operation': 'restored',
  // Sent mails, and what ends within minutes: one-time codes, counters of attempts.
  login: 'restored',
  mail: 'restored',
  once: 'restored',
  otp: 'restored',
  password_reset: 'restored',
  rate: 'restored',
  // The commands that restore write the mark, and make the list unknown.
  restored: 'restored',
  'subscribed-tenants': 'restored',
}

/** Returns the kinds that are carried over in a way. */
export function kindsOf(...among: Way[]): PartitionKind[] {
  return (Object.keys(ways) as PartitionKind[]).filter((kind) => among.includes(ways[kind]))
}

/** Returns the beginning of the partition keys of a kind. */
export function prefixOf(kind: PartitionKind): string {
  return singleItems.some((single) => single === kind) ? kind : `${kind}#`
}
