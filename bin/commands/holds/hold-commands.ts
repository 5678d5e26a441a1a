import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { holdableEntities, tenantTarget } from '#shared/holds/legal-hold.ts'
import { isId } from '#shared/platform/base/clock.ts'
import { unseenCharacter } from '#shared/platform/base/failure.ts'
import { type Define, operatorOf, stack, tableOf, tenant, yes } from '../../cli/options.ts'
import { confirm, printFields, printRows } from '../../cli/output.ts'

const maxReasonLength = 512
const target = new Option('--target <item>', 'order/ID or code/ID, or tenant for all data of the tenant')
  .argParser(parseTarget)
  .default(tenantTarget)
const reason = new Option('--reason <text>', 'why, for the audit: 1 to 512 characters, no personal data')
  .argParser(parseReason)
  .makeOptionMandatory()

/** Defines the commands on the legal holds of a tenant. */
export function defineHoldCommands(define: Define): void {
  define(
    'holds set',
    'Set a legal hold. While it stands, its target cannot be deleted permanently: the hard delete of a code, the erasure of an order and the purge of the tenant are refused. A hold on one item refuses the purge of its tenant, too. Each target has at most one hold. A tenant without data is refused. The audit records the hold with its reason.',
    'holds set --tenant acme --target order/ORDER_ID --reason "case 4711"',
    'holds set --tenant acme --reason "case 4711"',
  )
    .addOption(tenant)
    .addOption(target)
    .addOption(reason)
    .option('--force', 'also hold a tenant without data', false)
    .addOption(stack)
    .action(async ({ stack, ...hold }) => {
      const { setHold } = await import('./legal-holds.ts')
      printFields(await setHold(await operatorOf(stack), hold))
    })
  define('holds list', 'List the legal holds of a tenant.', 'holds list --tenant acme')
    .addOption(tenant)
    .addOption(stack)
    .action(async ({ tenant, stack }) => {
      const { listHolds } = await import('./legal-holds.ts')
      await printRows(listHolds(await tableOf(stack), tenant))
    })
  define(
    'holds lift',
    'Lift a legal hold. The audit records it with its reason.',
    'holds lift --tenant acme --target order/ORDER_ID --reason "case 4711 is closed" --yes',
  )
    .addOption(tenant)
    .addOption(target)
    .addOption(reason)
    .addOption(yes)
    .addOption(stack)
    .action(async ({ yes, stack, ...hold }) => {
      const { liftHold } = await import('./legal-holds.ts')
      await confirm(`Lift the legal hold on ${hold.target} of ${hold.tenant}?`, yes)
      await liftHold(await operatorOf(stack), hold)
      printFields({ target: hold.target, lifted: true })
    })
}

/** @throws InvalidArgumentError for anything but `tenant`, or an entity that can be held and an id */
function parseTarget(text: string): string {
  const [entity, id = '', ...rest] = text.split('/')
  const isItem = holdableEntities.some((one) => one === entity) && isId(id) && rest.length === 0
  if (isItem || text === tenantTarget) return text
  const items = holdableEntities.map((one) => `${one}/ID`).join(', ')
  throw new InvalidArgumentError(`It takes ${items} or ${tenantTarget}.`)
}

/** @throws InvalidArgumentError for a text that is empty, too long or not visible as a whole, such as a second line */
function parseReason(text: string): string {
  if (text.trim() !== '' && text.length <= maxReasonLength && !unseenCharacter.test(text)) return text.trim()
  throw new InvalidArgumentError(`It takes one line of 1 to ${maxReasonLength} visible characters.`)
}
