import { roles } from '#shared/platform/identity/caller.ts'
import { defineEventCommands } from './event-commands.ts'
import {
  type Define,
  parseObject,
  parseWholeNumber,
  settings,
  settingsOf,
  stack,
  stackOf,
  tenant,
  UsageError,
} from './options.ts'
import { printRecord, printRecords, withProgress } from './output.ts'
import { defineWebhookCommands } from './webhook-commands.ts'

/** Defines the commands that use the service as callers, senders and subscribers do. */
export function defineServiceCommands(define: Define): void {
  defineStart(define)
  defineUrl(define)
  defineToken(define)
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
      await (await import('../local/start.ts')).start({ port, settings })
    })
}

function defineUrl(define: Define): void {
  define('url', 'Print the address of the API.', 'url', 'url --provider', 'url --stack commerce-prod')
    .option('--provider', 'print the address of the payment provider of the local run instead')
    .addOption(stack)
    .action(async ({ provider, stack: name }) => {
      if (provider && name !== undefined) throw new UsageError('--provider is for the local run only')
      if (name !== undefined)
        return console.log((await import('../commands/deployment.ts')).baseUrlOf(await stackOf(name)))
      const { providerUrlOf, runningService } = await import('../local/service-file.ts')
      const service = runningService(provider ? '' : ', or use --stack')
      console.log(provider ? providerUrlOf(service) : service.base_url)
    })
}

function defineToken(define: Define): void {
  define(
    'token',
    'Print a token of the local issuer. A negative --expires-in and other claims make tokens that the service rejects.',
    'token --tenant acme --role Editor --sub u1 --scope "codes:read codes:write"',
  )
    .addOption(tenant)
    .requiredOption('--role <role>', `the role: ${roles.join(', ')}, or an unknown one`)
    .requiredOption('--sub <id>', 'the subject')
    .option('--scope <scopes>', 'scopes, separated by spaces')
    .option('--expires-in <seconds>', 'its lifetime', parseWholeNumber, 3600)
    .option('--claims <json>', 'other claims; null removes one', parseObject)
    .addOption(settings)
    .action(async ({ settings, expiresIn: expiresInSeconds, ...request }) => {
      if (!roles.some((role) => role === request.role))
        console.error(`warning: there is no role '${request.role}'; the roles are ${roles.join(', ')}`)
      const { issueToken, unknownScopes } = await import('../commands/token.ts')
      const { unknown, known } = unknownScopes(request.scope, await settingsOf(settings))
      if (unknown.length > 0)
        console.error(`warning: unknown scope: ${unknown.join(' ')}; the scopes are ${known.join(' ')}`)
      console.log(await issueToken({ ...request, expiresInSeconds }, settings))
    })
}

function defineMail(define: Define): void {
  define(
    'mail list',
    'Print the mails of the local run, which sends none. They hold one-time codes and new passwords.',
    'mail list --to shopper@example.com',
  )
    .option('--to <address>', 'only mails to this address')
    .action(async ({ to }) => {
      const { accessOf, runningService } = await import('../local/service-file.ts')
      const service = runningService('. A stack on AWS sends its mails, and keeps none')
      const { sentMails } = await import('../local/mail.ts')
      await printRecords(await sentMails(accessOf(service), to))
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
      const { importCustomers } = await import('../commands/import.ts')
      const { issueToken } = await import('../commands/token.ts')
      const { runningService } = await import('../local/service-file.ts')
      const service = {
        baseUrl: (url ?? runningService(', or use --url').base_url).replace(/\/$/, ''),
        token: token ?? (await issueToken({ tenant, role: 'Editor', sub: 'import' }, settings)),
        tenant,
      }
      const result = await withProgress((report) => importCustomers(file, service, report))
      printRecord(result)
      if (result.outcome !== 'SUCCESS') process.exitCode = 1
    })
}
