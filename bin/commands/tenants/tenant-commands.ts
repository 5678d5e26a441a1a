import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { systemClock } from '#shared/platform/base/clock.ts'
import { roles } from '#shared/platform/identity/caller.ts'
import {
  type Define,
  operatorOf,
  parseTenant,
  secretFrom,
  stack,
  stackOf,
  tableOf,
  tenant,
  UsageError,
  yes,
} from '../../cli/options.ts'
import { confirm, printFields, printRows, withProgress } from '../../cli/output.ts'
import { defineApiKeyCommands } from '../api-keys/api-key-commands.ts'

/** Defines the commands on the data, the users and the credentials of a tenant. */
export function defineTenantCommands(define: Define): void {
  defineErasure(define)
  defineSessions(define)
  defineApiKeyCommands(define)
  defineUsers(define)
  definePurge(define)
  defineBlocks(define)
  defineAccounts(define)
}

function defineErasure(define: Define): void {
  define(
    'orders erase',
    'Erase an order permanently. Reading it then returns 410 or 404, as the setting orders.gone says. The stored response to its creation remains until its idempotency record expires.',
    'orders erase ORDER_ID --tenant acme --yes',
  )
    .argument('<id>', 'the order')
    .addOption(tenant)
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, yes, stack }) => {
      const { eraseOrder } = await import('./erase-order.ts')
      await confirm(`Erase the order ${id} of ${tenant} permanently?`, yes)
      printFields({ order_id: id, erased: await eraseOrder(await operatorOf(stack), tenant, id) })
    })
}

function defineSessions(define: Define): void {
  define(
    'sessions list',
    'List the active sessions of a tenant, oldest first.',
    'sessions list --tenant public',
  )
    .addOption(tenant)
    .addOption(stack)
    .action(async ({ tenant, stack }) => {
      const { listSessions } = await import('./sessions.ts')
      await printRows(listSessions(await tableOf(stack), tenant, systemClock))
    })
  define('sessions revoke', 'End a session at once.', 'sessions revoke SESSION_ID --tenant public --yes')
    .argument('<id>', 'the session')
    .addOption(tenant)
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, yes, stack }) => {
      const { endSession } = await import('./sessions.ts')
      await confirm(`End the session ${id} of ${tenant}?`, yes)
      await endSession(await operatorOf(stack), tenant, id)
      printFields({ session_id: id, revoked: true })
    })
}

function defineUsers(define: Define): void {
  define(
    'users set',
    'Create a user, or change the role or the password of an existing one, and print the user. A change of a role is audited.',
    'users set jane@example.com --tenant acme --role Editor --password-stdin < password.txt',
    'users set jane@example.com --role Admin',
  )
    .argument('<email>', 'the e-mail address')
    .option('--tenant <name>', 'the tenant of a new user')
    .addOption(new Option('--role <role>', 'the role').choices(roles))
    .option('--password-stdin', 'read the password from standard input')
    .option('--password <password>', 'the password, on the local run only')
    .addOption(stack)
    .action(async (email, { tenant, role, password, passwordStdin, stack }) => {
      // Other users of the machine see the arguments of a command, and the shell keeps them in its history.
      if (password !== undefined && stack !== undefined)
        throw new UsageError('other users can see a password on the command line: use --password-stdin')
      const { changeUser, userStore } = await import('./user.ts')
      const secret = passwordStdin ? await secretFrom(process.stdin) : password
      printFields(
        await changeUser({ email, tenant, role, password: secret }, await userStore(await stackOf(stack))),
      )
    })
}

function definePurge(define: Define): void {
  define(
    'tenants purge',
    'Delete the data of a tenant in the table permanently. It blocks the tenant first: its callers get 403 POLICY.account.locked, and its imports are canceled. It deletes after a minute, when no request of the tenant is left, and after its imports and refunds have ended. The tenant stays blocked until you unblock it, which is possible after the purge. The audit records the block, the start and the end. It prints what remains elsewhere, and until when. A name without data is refused. An interrupted purge can be repeated, and counts the items of both runs.',
    'tenants purge acme --yes',
  )
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--with-audit', 'also delete its audit records', false)
    .option('--force', 'also purge a name without data', false)
    .addOption(yes)
    .addOption(stack)
    .action(async (tenant, { withAudit, force, yes, stack }) => {
      const { purgeTenant, remaining } = await import('./purge-tenant.ts')
      await confirm(`Block ${tenant} and delete all its data permanently?`, yes)
      const operator = await operatorOf(stack)
      const deleted = await withProgress((report) =>
        purgeTenant(operator, tenant, { withAudit, force, report }),
      )
      printFields({ tenant, deleted, remaining, blocked: true })
    })
}

function defineBlocks(define: Define): void {
  define(
    'tenants block',
    'Reject all requests of a tenant with 403 POLICY.account.locked. The block takes effect within 30 seconds. Events that name the tenant wait in the dead-letter queue until it is unblocked and they are redriven. No data is deleted. It is audited in the tenant. A name without data is refused. At most 6,000 tenants can be blocked.',
    'tenants block acme --yes',
  )
    .argument('<tenant>', 'the tenant', parseTenant)
    .option('--force', 'also block a name without data', false)
    .addOption(yes)
    .addOption(stack)
    .action(async (tenant, { force, yes, stack }) => {
      const { blockTenant } = await import('./block-tenant.ts')
      await confirm(`Reject all requests of ${tenant}?`, yes)
      const changed = await blockTenant(await operatorOf(stack), tenant, { force })
      printFields({ tenant, blocked: true, changed })
    })
  define(
    'tenants unblock',
    'Let the callers of a blocked tenant in again, within 30 seconds. A purged tenant starts without data. It is refused while a purge of the tenant runs, and for seven minutes after one that was interrupted. It prints changed: false for a tenant that is not blocked.',
    'tenants unblock acme',
  )
    .argument('<tenant>', 'the tenant', parseTenant)
    .addOption(stack)
    .action(async (tenant, { stack }) => {
      const { unblockTenant } = await import('./block-tenant.ts')
      const changed = await unblockTenant(await operatorOf(stack), tenant)
      printFields({ tenant, blocked: false, changed })
    })
  define(
    'tenants list',
    'List the accounts at the payment provider that tenants have or had, and the blocked tenants. An account is connected, disconnected by an operator, or lost: its owner has ended the access of the service. Tenants with neither are not listed.',
    'tenants list',
  )
    .option('--blocked', 'only blocked tenants', false)
    .addOption(stack)
    .action(async ({ blocked, stack }) => {
      const { listTenants } = await import('./list-tenants.ts')
      const columns = ['tenant', 'blocked', 'account', 'state', 'connected_at', 'disconnected_at', 'lost_at']
      await printRows(listTenants(await tableOf(stack), { blocked }), ...columns)
    })
}

function defineAccounts(define: Define): void {
  define(
    'tenants connect',
    'Connect an account at the payment provider: new refunds of the tenant are made in it within 30 seconds. Another account of the tenant is disconnected, and a lost one is connected again. An account belongs to one tenant, also after a disconnect, until the tenant is purged. It is audited in the tenant.',
    'tenants connect acme acct_1Nv0FGQ9RKHgCVdK',
  )
    .argument('<tenant>', 'the tenant', parseTenant)
    .argument('<account>', 'the connected account of Stripe', parseAccount)
    .addOption(stack)
    .action(async (tenant, account, { stack }) => {
      const { connectAccount } = await import('./connect-account.ts')
      const disconnected = await connectAccount(await operatorOf(stack), tenant, account)
      printFields({ tenant, connected: account, ...(disconnected && { disconnected }) })
    })
  define(
    'tenants disconnect',
    'Disconnect the account of a tenant: its new refunds are rejected with 409 POLICY.refund.no_account within 30 seconds. Earlier refunds are finished, settled and compared. It is audited in the tenant. It prints changed: false if no account is connected.',
    'tenants disconnect acme --yes',
  )
    .argument('<tenant>', 'the tenant', parseTenant)
    .addOption(yes)
    .addOption(stack)
    .action(async (tenant, { yes, stack }) => {
      const { disconnectAccount } = await import('./connect-account.ts')
      await confirm(`Reject all new refunds of ${tenant}?`, yes)
      const disconnected = await disconnectAccount(await operatorOf(stack), tenant)
      printFields({ tenant, ...(disconnected && { disconnected }), changed: disconnected !== undefined })
    })
}

/** @throws InvalidArgumentError for anything but the id of an account */
function parseAccount(text: string): string {
  if (/^acct_\w{1,100}$/.test(text)) return text
  throw new InvalidArgumentError('It takes the id of a connected account, such as acct_1Nv0FGQ9RKHgCVdK.')
}
