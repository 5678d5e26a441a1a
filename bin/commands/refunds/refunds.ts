import { dayMilliseconds, startBudget, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { Failure } from '#shared/platform/base/failure.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { accountsOf } from '#shared/refunds/accounts.ts'
import type { Finding } from '#shared/refunds/difference.ts'
import { deployedProviderRefunds } from '#shared/refunds/list-stripe-refunds.ts'
import { type CurrencyTotal, reconcile, type Sources } from '#shared/refunds/reconcile.ts'
import { newestCompared } from '#shared/refunds/reconcile-daily.ts'
import type { Settings } from '#shared/settings/register.ts'
import { UsageError } from '../../cli/options.ts'
import { type DeployedStack, openTable, outputOf } from '../stack/deployment.ts'
import { secretText } from '../stack/secret-text.ts'

/** A time range of the refunds of a tenant, in milliseconds since 1970. */
export interface ComparedRange {
  tenant: string
  /** The accounts that the tenant has or had. */
  accounts: string[]
  /** Those that nobody can compare, because their owners ended the access of the service. */
  lost: string[]
  from: number
  to: number
}

/** The result of a comparison. Its numbers are complete when all findings were read. */
interface ComparisonSummary extends Pick<ComparedRange, 'tenant' | 'accounts' | 'lost'> {
  from: string
  to: string
  compared: number
  differences: number
  unrelated: number
  totals: CurrencyTotal[]
}

/** The time limit of a comparison, which reads all refunds of an account at the provider. */
const comparisonMilliseconds = 3_600_000

/** Opens the table of a deployment and the refunds of its payment provider. */
export async function openSources(stack: DeployedStack, settings: Settings): Promise<Sources> {
  const provider = settings['refunds.provider']
  const providerRefunds = await deployedProviderRefunds({
    settings: {
      ...settings,
      'refunds.provider': { ...provider, endpoint: stack.providerUrl ?? provider.endpoint },
    },
    clock: systemClock,
    secret: () => secretText(outputOf(stack, 'PaymentsSecretArn'), stack.access),
  })
  return {
    table: openTable(stack),
    providerRefunds,
    budget: startBudget(systemClock, comparisonMilliseconds),
  }
}

/** Compares the ledger of a tenant with the payment provider of a deployment, in each account that the tenant has or had. */
export function comparison(
  range: ComparedRange,
  sources: Sources,
): { findings: AsyncGenerator<Finding>; summary: ComparisonSummary } {
  const { tenant, accounts, lost, from, to } = range
  const summary: ComparisonSummary = {
    tenant,
    accounts,
    lost,
    from: timestamp(from),
    to: timestamp(to),
    compared: 0,
    differences: 0,
    unrelated: 0,
    totals: [],
  }
  return { findings: findings(), summary }

  async function* findings(): AsyncGenerator<Finding> {
    try {
      for (const account of accounts)
        for await (const part of reconcile({ tenant, account, from, to }, sources)) {
          summary.compared += part.compared
          summary.differences += part.differences.length
          summary.unrelated += part.unrelated.length
          summary.totals = addedTotals(summary.totals, part.totals)
          yield* part.differences
          yield* part.unrelated
        }
    } catch (thrown) {
      throw stoppedError('the comparison', thrown)
    }
  }
}

/** Returns the error of work that a failure of the provider or of the table has stopped. */
export function stoppedError(work: string, thrown: unknown): unknown {
  if (!(thrown instanceof Failure)) return thrown
  const reason = thrown.cause instanceof Error ? ` (${thrown.cause.message})` : ''
  return new Error(`${work} stopped before its end: ${thrown.code}${reason}`)
}

/** @throws UsageError for a tenant without an account */
export async function comparedAccounts(
  table: Table,
  tenant: string,
  settings: Settings,
): Promise<Pick<ComparedRange, 'accounts' | 'lost'>> {
  const known = await accountsOf(table, tenant)
  const found = settings['refunds.account']
  if (known.length === 0 && found !== 'connected') return { accounts: [`${found.prefix}${tenant}`], lost: [] }
  if (known.length === 0)
    throw new UsageError(`${tenant} has no account: connect one with \`tenants connect\``)
  const namesOf = (isLost: boolean) =>
    known.flatMap(({ account, lost_at }) => ((lost_at !== undefined) === isLost ? [account] : []))
  return { accounts: namesOf(false), lost: namesOf(true) }
}

/**
 * Returns the range in milliseconds since 1970: by default yesterday. A comparison ends before refunds that are too young. An
 * adoption leaves none out: it books nothing twice, whatever is in progress.
 * @throws UsageError if it is empty
 */
export function rangeOf(
  { adopt, ...window }: { from: Date | undefined; to: Date | undefined; adopt: boolean },
  settings: Settings,
  now: number,
): { from: number; to: number } {
  if (adopt && !window.from)
    throw new UsageError('--adopt requires --from: the time to which the table was restored')
  const today = now - (now % dayMilliseconds)
  const end = window.to?.getTime() ?? (window.from ? now : today)
  const from = window.from?.getTime() ?? end - dayMilliseconds
  const to = Math.min(end, adopt ? now : newestCompared(settings, now))
  const { minAgeMinutes } = settings['refunds.reconcile']
  if (from >= to)
    throw new UsageError(
      `--from must be before --to${adopt ? '' : `, and at least ${minAgeMinutes} minutes ago`}`,
    )
  return { from, to }
}

function addedTotals(sums: readonly CurrencyTotal[], more: readonly CurrencyTotal[]): CurrencyTotal[] {
  const byCurrency = Map.groupBy([...sums, ...more], ({ currency }) => currency)
  return Array.from(byCurrency, ([currency, totals]) => ({
    currency,
    provider: totals.reduce((sum, { provider }) => sum + provider, 0),
    ledger: totals.reduce((sum, { ledger }) => sum + ledger, 0),
  }))
}
