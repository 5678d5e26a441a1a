import { Option } from '@commander-js/extra-typings'
import { operationStates } from '#shared/operations/operation.ts'
import { type Define, stack, tenant, UsageError } from '../../cli/options.ts'
import { printFields, printJson, printLine } from '../../cli/output.ts'
import {
  anyTenant,
  correlationId,
  from,
  limit,
  printAnswer,
  reachAt,
  to,
  verbose,
} from './question-options.ts'

/** Defines the commands that answer what happened. */
export function defineQuestions(define: Define): void {
  defineFind(define)
  defineAudit(define)
  defineOperations(define)
}

function defineFind(define: Define): void {
  define(
    'find',
    'Find what a text names, and all that happened to it, oldest first: the lines of requests, audit, ledger, items as they are now, events, deliveries with their attempts, mails and dead letters, without personal data. It takes a correlation id, the id of an order, refund, code, operation, subscriber, delivery, event, mail or API key, and with --tenant also a charge, a refund of the provider, a cart or the text of a code, also of one that was deleted for good. By default it looks from the time in the id on, or at the last day. An order or a refund is found in any tenant; an API key, delivery or cart needs --tenant, unless the logs of the time name it.',
    'find CORRELATION_ID',
    'find SUMMER-10 --tenant acme --from 7d',
    'find API_KEY_ID --from 2026-01-30T00:00:00Z --to 2026-01-31T00:00:00Z --stack commerce-prod',
  )
    .argument('<what>', 'the id, the text of a code, or the name of a cart')
    .addOption(anyTenant)
    .addOption(from)
    .addOption(to)
    .option('--json', 'print one JSON object: what was found, the entries, and what was read')
    .addOption(verbose)
    .addOption(stack)
    .action(async (what, { tenant, from, to, json, verbose, stack }) => {
      if (from && to && from >= to) throw new UsageError('--from must be before --to')
      const { find } = await import('./find.ts')
      const time = { from: from?.getTime(), to: to?.getTime() }
      const timeline = await find(await reachAt(stack), what, { ...time, tenant })
      const { found, entries, read } = timeline
      if (json) printJson(timeline)
      else {
        printFields({ found })
        for (const entry of entries) printLine(entry, 'at', 'kind', 'summary', 'command')
      }
      const isOfSeveral = new Set(found.map((one) => one.tenant)).size > 1
      const advice = isOfSeveral ? 'name one of the tenants with --tenant' : 'name a shorter time'
      if (read.logs_failed !== undefined) console.error(`The logs were not searched: ${read.logs_failed}`)
      else if (!read.complete) console.error(`This is a sample: ${advice} to see all.`)
      if (verbose) console.error(`${read.units.read} read units, ${read.calls} calls of CloudWatch Logs`)
    })
}

function defineAudit(define: Define): void {
  define(
    'audit list',
    'List the audit records of a tenant, the latest first: who did what, allowed or denied.',
    'audit list --tenant acme --from 24h',
    'audit list --tenant acme --action hard_delete --from 7d --stack commerce-prod',
    'audit list --tenant acme --actor api-key:KEY_ID --result deny',
  )
    .addOption(tenant)
    .addOption(from)
    .addOption(to)
    .option('--actor <id>', 'only of a principal or a subject; api-key:ID names an API key')
    .option('--action <name>', 'only of this action, such as update')
    .option('--target <item>', 'only on this item, such as code/ID')
    .addOption(new Option('--result <result>', 'only with this result').choices(['allow', 'deny'] as const))
    .addOption(correlationId)
    .addOption(limit)
    .addOption(verbose)
    .addOption(stack)
    .action(async ({ tenant, actor, action, target, result, correlationId, ...options }) => {
      const { readAudit } = await import('./lists.ts')
      const filters = { tenant, actor, action, target, result, correlationId }
      const columns = ['at', 'actor_id', 'issuer', 'action', 'target', 'result']
      await printAnswer(readAudit, options, filters, { columns })
    })
}

function defineOperations(define: Define): void {
  define(
    'operations list',
    'List the imports of a tenant, the latest first, with their counts, errors and first 100 rejected rows: the rejects_url of the caller has all. Without --tenant it lists the failed ones of all tenants, by the time of the failure.',
    'operations list --from 24h --stack commerce-prod',
    'operations list --tenant acme --status failed',
  )
    .addOption(anyTenant)
    .addOption(from)
    .addOption(to)
    .addOption(new Option('--status <state>', 'only in this state').choices(operationStates))
    .addOption(correlationId)
    .addOption(limit)
    .addOption(verbose)
    .addOption(stack)
    .action(async ({ tenant, status, correlationId, ...options }) => {
      const { readOperations } = await import('./lists.ts')
      const columns = ['id', 'tenant_id', 'state', 'updated_at', 'result', 'error']
      await printAnswer(readOperations, options, { tenant, status, correlationId }, { columns })
    })
}
