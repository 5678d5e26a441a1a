import { systemClock } from '#shared/platform/base/clock.ts'
import {
  type Define,
  operatorOf,
  parseWholeNumber,
  stack,
  stackOf,
  tableOf,
  tenant,
  yes,
} from '../../cli/options.ts'
import { confirm, printFields, printRows } from '../../cli/output.ts'

/** Defines the commands on the API keys of a tenant. */
export function defineApiKeyCommands(define: Define): void {
  defineCreate(define)
  defineList(define)
  defineRotate(define)
  defineRevoke(define)
}

function defineCreate(define: Define): void {
  define(
    'api-keys create',
    'Create a key for the operations of some scopes, and print it. It cannot be printed again.',
    'api-keys create --tenant acme --name shop --scope "orders:read orders:write"',
  )
    .addOption(tenant)
    .requiredOption('--name <purpose>', 'what the key is for')
    .requiredOption('--scope <scopes>', 'scopes, separated by spaces')
    .addOption(stack)
    .action(async ({ tenant, name, scope, stack }) => {
      const { createApiKey, scopesOf } = await import('./api-keys.ts')
      const { outputOf } = await import('../stack/deployment.ts')
      const scopes = scopesOf(scope, outputOf(await stackOf(stack), 'ApiKeyScopes'))
      printFields(await createApiKey(await operatorOf(stack), { tenant, name, scopes }))
    })
}

function defineList(define: Define): void {
  define(
    'api-keys list',
    'List the keys of a tenant without their secrets, oldest first.',
    'api-keys list --tenant acme',
  )
    .addOption(tenant)
    .addOption(stack)
    .action(async ({ tenant, stack }) => {
      const { listApiKeys } = await import('./api-keys.ts')
      await printRows(
        listApiKeys(await tableOf(stack), tenant, systemClock),
        'key_id',
        'name',
        'scopes',
        'state',
        'valid_until',
      )
    })
}

function defineRotate(define: Define): void {
  define(
    'api-keys rotate',
    'Replace an active key, and print the new one. The new key has the name, the scopes and the principal of the old one: requests that are repeated with it are replayed. With --overlap the old key ends, and cannot be rotated again.',
    'api-keys rotate KEY_ID --tenant acme --overlap 86400',
  )
    .argument('<id>', 'the key to replace')
    .addOption(tenant)
    .option(
      '--overlap <seconds>',
      'how long the old key stays valid; by default until it is revoked',
      parseWholeNumber,
    )
    .addOption(stack)
    .action(async (id, { tenant, overlap, stack }) => {
      const { rotateApiKey } = await import('./api-keys.ts')
      printFields(await rotateApiKey(await operatorOf(stack), { tenant, id, overlapSeconds: overlap }))
    })
}

function defineRevoke(define: Define): void {
  define('api-keys revoke', 'End a key at once.', 'api-keys revoke KEY_ID --tenant acme --yes')
    .argument('<id>', 'the key')
    .addOption(tenant)
    .addOption(yes)
    .addOption(stack)
    .action(async (id, { tenant, yes, stack }) => {
      const { revokeApiKey } = await import('./api-keys.ts')
      await confirm(`End the API key ${id} of ${tenant}?`, yes)
      await revokeApiKey(await operatorOf(stack), tenant, id)
      printFields({ key_id: id, revoked: true })
    })
}
