import { roles } from '#shared/platform/identity/caller.ts'
import {
  type Define,
  parseObject,
  parseTenant,
  parseWholeNumber,
  settings,
  settingsOf,
  stack,
  stackOf,
  tenant,
  UsageError,
} from '../../cli/options.ts'
import { printFields, printRows, withProgress } from '../../cli/output.ts'
import { defineEventCommands } from '../events/event-commands.ts'
import { defineWebhookCommands } from '../webhooks/webhook-commands.ts'

/** Defines the commands that use the service as callers, senders and subscribers do. */
export function defineServiceCommands(define: Define): void {
  defineStart(define)
  defineEnvironment(define)
  defineMail(define)
  defineImports(define)
  defineEventCommands(define)
  defineWebhookCommands(define)
}

function defineStart(define: Define): void {
  define(
    'start',
    'Run the service on this machine, deployed to a local AWS, until Ctrl-C.',
    'start',
    'start --port 5000',
  )
    .option(
      '--port <number>',
      'the port of the local AWS, by default 4566. The payment provider and the pages take the next free ports after it; by default those of the profile',
      parseWholeNumber,
    )
    .option('--settings <file>', 'another profile than the local one')
    .action(async ({ port, settings }) => {
      if (port !== undefined && (port < 1024 || port > 65_000))
        throw new UsageError('--port takes a number from 1024 to 65000')
      await (await import('../../local/start.ts')).start({ port, settings })
    })
}

/** The options of `env` that only a token has, by attribute. */
const tokenOptions = new Set(['role', 'sub', 'scope', 'expiresIn', 'claims'])

function defineEnvironment(define: Define): void {
  define(
    'env',
    'Print variables for a shell: BASE_URL, the address of the API; on the local run PROVIDER, that of its payment provider; and with --tenant TOKEN, a token of the local issuer. A negative --expires-in and other claims make tokens that the service rejects.',
    'env --tenant acme',
    'env --tenant acme --role Editor --sub u1 --scope "codes:read codes:write"',
    'env --stack commerce-prod',
  )
    .option('--tenant <name>', 'the tenant of the token', parseTenant)
    .option('--role <role>', `the role: ${roles.join(', ')}, or an unknown one`, 'Editor')
    .option('--sub <id>', 'the subject', 'u1')
    .option('--scope <scopes>', 'scopes, separated by spaces')
    .option('--expires-in <seconds>', 'the lifetime of the token', parseWholeNumber, 3600)
    .option('--claims <json>', 'other claims; null removes one', parseObject)
    .addOption(settings)
    .addOption(stack)
    .action(async ({ settings, stack, tenant, expiresIn: expiresInSeconds, ...request }, command) => {
      if (stack !== undefined && tenant !== undefined)
        throw new UsageError('--tenant is for the local run only: a stack has no local issuer')
      const ofToken = command.options.find(
        (option) =>
          tokenOptions.has(option.attributeName()) &&
          command.getOptionValueSource(option.attributeName()) === 'cli',
      )
      if (ofToken && tenant === undefined) throw new UsageError(`${ofToken.long} requires --tenant`)
      const token = tenant === undefined ? {} : { TOKEN: await tokenOf(tenant) }
      // After both are known: a shell evaluates what is printed before an error, too.
      printVariables({ ...token, ...(await pageAddresses(stack)) })

      async function tokenOf(tenant: string): Promise<string> {
        const { role, scope } = request
        if (!roles.some((known) => known === role))
          console.error(`warning: there is no role '${role}'; the roles are ${roles.join(', ')}`)
        const { issueToken, unknownScopes } = await import('./token.ts')
        const { unknown, known } = unknownScopes(scope, await settingsOf(settings))
        if (unknown.length > 0)
          console.error(`warning: unknown scope: ${unknown.join(' ')}; the scopes are ${known.join(' ')}`)
        return issueToken({ ...request, tenant, expiresInSeconds }, settings)
      }
    })
}

async function pageAddresses(name: string | undefined): Promise<Record<string, string>> {
  if (name !== undefined)
    return { BASE_URL: (await import('../stack/deployment.ts')).baseUrlOf(await stackOf(name)) }
  const { runningService } = await import('../../local/service-file.ts')
  const { base_url, provider_url } = runningService(', or use --stack')
  return { BASE_URL: base_url, ...(provider_url !== undefined && { PROVIDER: provider_url }) }
}

/** Prints assignments that a shell evaluates to these values. */
function printVariables(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    // biome-ignore lint/suspicious/noConsole: a shell evaluates the text
    console.log(`${name}='${value.replaceAll("'", `'\\''`)}'`)
  }
}

function defineMail(define: Define): void {
  define(
    'mail list',
    'Print the mails of the local run, which sends none. They hold one-time codes and new passwords.',
    'mail list --to shopper@example.com',
  )
    .option('--to <address>', 'only mails to this address')
    .action(async ({ to }) => {
      const { awsAccessOf, runningService } = await import('../../local/service-file.ts')
      const service = runningService('. A stack on AWS sends its mails, and keeps none')
      const { sentMails } = await import('../../local/mail.ts')
      await printRows(await sentMails(awsAccessOf(service), to))
    })
}

function defineImports(define: Define): void {
  define(
    'imports create',
    'Import a CSV file of customers, and wait for the result. It works on the local run, with a token of the local issuer, or on the service at --url. It exits with 1 unless every row is imported.',
    'imports create customers.csv --tenant acme',
  )
    .argument('<file>', 'the CSV file')
    .addOption(tenant)
    .option('--url <address>', 'the address of the service')
    .option('--token <token>', 'a token of its issuer')
    .addOption(settings)
    .action(async (file, { tenant, url, token, settings }) => {
      if (url !== undefined && token === undefined) throw new UsageError('--url requires --token')
      const { importCustomers } = await import('./import.ts')
      const { issueToken } = await import('./token.ts')
      const { runningService } = await import('../../local/service-file.ts')
      const service = {
        baseUrl: (url ?? runningService(', or use --url').base_url).replace(/\/$/, ''),
        token: token ?? (await issueToken({ tenant, role: 'Editor', sub: 'import' }, settings)),
        tenant,
      }
      const result = await withProgress((report) => importCustomers(file, service, report))
      printFields(result)
      if (result.outcome !== 'SUCCESS') process.exitCode = 1
    })
}
