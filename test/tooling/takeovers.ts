import { type Subscription, subscriptions } from '#functions/subscriptions.ts'
import { type Right, rights } from '#lib/access/rights.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import type { PartitionKind } from '#shared/platform/table/keys.ts'
import type { TableCall, TableUse } from '#shared/platform/table/table.ts'
import { declaredUses } from '#test/infrastructure/declared-uses.ts'

/** What a use permits besides the table, in words. Those without an entry permit nothing that others may not. */
const permitted: Readonly<Partial<Record<Right, string>>> = {
  'secret.cursors': 'forge cursors of lists',
  'secret.one_time_codes': 'compute the digits of a code whose salt it reads',
  'secret.sessions': 'compute the cookies of sessions',
  'secret.hashes': 'test guesses of e-mail addresses and networks',
  'secret.codes': 'test guesses of the texts of codes that were deleted for good',
  'secret.mails': 'open and seal the addresses of queued codes',
  'secret.resets': 'open and seal the addresses of queued password resets',
  'secret.subscribers': 'open and seal the secrets of subscribers',
  'secret.payments': 'act at the payment provider',
  'secret.webhooks': 'sign events to the service',
  'secret.stripe_webhooks': "sign Stripe's events to the service",
  'secret.probe': "use the API key of the probe's tenant",
  'bus.publish': 'publish any event',
  'queues.send': 'queue any work',
  'reconciliations.send': 'queue comparisons with the payment provider',
  'deliveries.send': 'queue deliveries',
  'mail.send': 'send mails as the service',
  'pool.login': 'try passwords without a limit',
  'imports.start': 'start imports',
  'imports.describe': 'read the states of imports',
  'files.write': 'write exports',
  'files.link': 'read exports',
  'imports.write': 'write uploaded files',
  'imports.read': 'read uploaded files',
  'rejects.write': 'write rejects',
  'rejects.read': 'read rejects',
}

/** The kinds of items that most roles use, and that the page names once. */
const common: readonly PartitionKind[] = ['api_key', 'audit', 'blocked-tenants']

const reading: readonly TableCall[] = ['get', 'getMany', 'query']
/** An update creates an item that is absent. */
const creating: readonly TableCall[] = ['put', 'update', 'insert']
const changing: readonly TableCall[] = [...creating, 'delete']

/** Replaces the table of what a takeover of each function can do. */
export function withTakeovers(page: string): string {
  const [start, end] = ['<!-- takeovers -->', '<!-- /takeovers -->']
  return page.replace(RegExp(`${start}[\\s\\S]*${end}`), () => `${start}\n${takeovers()}\n${end}`)
}

function takeovers(): string {
  const rows = Array.from(declaredUses(), ([name, { uses, table: items }]) => [
    `\`${name}\``,
    named(items, reading),
    named(items, changing),
    phrases(name, [...uses], kindsOf(items, creating)),
  ])
  const heads = ['Function', 'Reads', 'Changes', 'Can also']
  return [heads, heads.map(() => '---'), ...rows.sort()].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function named(items: TableUse, calls: readonly TableCall[]): string {
  return kindsOf(items, calls).sort().join(', ') || '–'
}

function kindsOf(items: TableUse, calls: readonly TableCall[]): PartitionKind[] {
  const kinds = new Set<PartitionKind>(calls.flatMap((call) => items[call] ?? []))
  return [...kinds].filter((kind) => !common.includes(kind))
}

function phrases(name: string, uses: readonly Right[], created: readonly PartitionKind[]): string {
  const queues = uses.filter((use) => use.startsWith('queue.')).map((use) => use.slice('queue.'.length))
  const others = (Object.keys(rights) as Right[])
    .filter((use) => uses.includes(use))
    .flatMap((use) => permitted[use] ?? [])
  // The stream sends the task of a new item to its queue, and the consumer does not check who wrote it.
  const fed = Object.entries(taskQueues).filter(([, { carriers }]) =>
    carriers.some((kind) => created.includes(kind)),
  )
  const sending = fed.map(([queue]) => `feed the queue \`${queue}\``)
  const receiving = queues.map((queue) => `take messages of the queue \`${queue}\``)
  const isFed = ({ name: fed, source }: Subscription) =>
    fed === name && typeof source === 'object' && 'stream' in source
  const streamed = subscriptions.some(isFed) ? ['read each item that was written in the last 24 hours'] : []
  return [...others, ...sending, ...receiving, ...streamed].join('; ') || '–'
}
