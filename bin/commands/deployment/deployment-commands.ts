import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Option } from '@commander-js/extra-typings'
import type { Settings } from '#shared/settings/register.ts'
import {
  awsStack,
  type Define,
  parseTime,
  parseWholeNumber,
  settings,
  settingsOf,
  stack,
  stackOf,
  UsageError,
  url,
  yes,
} from '../../cli/options.ts'
import { assertCanAsk, confirm, printFields, printRows, withProgress } from '../../cli/output.ts'
import { onStopSignal } from '../../cli/stop-signal.ts'
import { defineAddresses } from '../addresses/address-commands.ts'
import { defineConsole } from '../ask/console-command.ts'
import { defineDeadLetters } from '../dead-letters/dead-letter-commands.ts'
import { defineFreeze } from '../freeze/freeze-commands.ts'

/** Defines the commands of operators on a whole deployment, and those that describe it. */
export function defineDeploymentCommands(define: Define): void {
  defineConsole(define)
  defineVerify(define)
  defineDeadLetters(define)
  defineAddresses(define)
  defineRestore(define)
  defineFreeze(define)
  definePreflight(define)
  defineRollback(define)
  defineDescriptions(define)
  defineProfile(define)
}

function defineVerify(define: Define): void {
  define(
    'verify',
    'Check a deployment from outside. The checks are health, a rejected token, an unknown route and a wrong method, an order, its replay, a changed payload, a list, a repeated header, a HEAD, a 304, a rejected signature, a webhook that pays the order, an import, a mail to the mailbox simulator of Amazon SES, and an export that is too large for a response. On AWS it also checks an error of the gateway itself, and whether a page can read the export. They use an API key in a tenant of their own, which are removed at the end, also after Ctrl-C; received events, the mail and idempotency records expire. Checks of operations that `auth.operationScopes` opens to no API key are skipped, as is the mail without a `mail.sender`, and it says so. It stops at the first check that fails. With --first it asks AWS instead what the local run cannot show, once for a new stage, and changes nothing: each line has a question, its state, the answer and what was expected. It exits with 1 if an answer differs, and the line says what to change. What needs a day is asked when it is run again. With --data it asks the stored data instead whether the ledger is the paid and reversed refunds, each code has its lock, the lines of carts follow their rules, outcomes are audited, tenants are separate and nothing is pending forever. It reads an export of the table by DynamoDB, which takes minutes, costs no read units, lies in the bucket of the stack and is deleted at the end; on the local run, the table. It prints each violation with its ids, and exits with 1 if there is one.',
    'verify',
    'verify --stack commerce-prod --settings profiles/prod.json',
    'verify --first --stack commerce-staging --settings profiles/staging.json',
    'verify --data --stack commerce-prod --settings profiles/prod.json',
  )
    .option('--first', 'ask what only AWS can answer, on the first stage there')
    .addOption(new Option('--data', 'check what must be true of the stored data').conflicts('first'))
    .addOption(settings)
    .addOption(url)
    .addOption(stack)
    .action(async ({ settings, url, stack, first, data }) => {
      if (first) return printFirstAnswers(stack, await settingsOf(settings))
      if (data && stack !== undefined && settings === undefined)
        throw new UsageError('--data needs the profile of the stack: its carts follow codes.types')
      if (data) return printBrokenPromises(stack, await settingsOf(settings))
      const { verifyStack } = await import('../verify/verify.ts')
      const stopped = new AbortController()
      const interrupted = new Error('verify was interrupted, and what it made is removed')
      onStopSignal(() => stopped.abort(interrupted))
      const onStop = (left: string) =>
        console.error(`Stopping after the current check, and removing ${left}. A second Ctrl-C leaves them.`)
      const options = { settings: await settingsOf(settings), url, signal: stopped.signal, onStop }
      await verifyStack(await stackOf(stack), options, (check, skipped) =>
        printFields(skipped === undefined ? { check, passed: true } : { check, skipped }),
      )
    })
}

/** Prints the answers of AWS, and what is left to ask by hand. */
async function printFirstAnswers(name: string | undefined, settings: Settings): Promise<void> {
  if (name === undefined) throw new UsageError('--first needs --stack: the local run cannot answer')
  const { askFirst, byHand, firstStack } = await import('../verify/first-questions.ts')
  const { outputs } = await stackOf(name)
  for await (const answered of askFirst(firstStack(name, { settings, outputs }))) {
    printFields(answered)
    if (answered.state === 'differs') process.exitCode = 1
  }
  for (const { question, ...how } of byHand) printFields({ question, state: 'by_hand', ...how })
}

/** Prints what the stored data breaks, and what was checked. */
async function printBrokenPromises(name: string | undefined, settings: Settings): Promise<void> {
  const { verifyData } = await import('../verify/data/verify-data.ts')
  const stopped = new AbortController()
  onStopSignal(() => stopped.abort(new Error('verify was interrupted')))
  const options = { settings, signal: stopped.signal, onViolation: printFields }
  const deployed = await stackOf(name)
  const checked = await withProgress((report) => verifyData(deployed, { ...options, report }))
  printFields(checked)
  if (checked.violations > 0) process.exitCode = 1
}

function defineRestore(define: Define): void {
  define(
    'table restore',
    'Restore the table into a new table, as it was at a time. Without --to, prepare a table that exists, such as one that AWS Backup restored. It enables what a restore disables (stream, time to live, point-in-time recovery, deletion protection), sets the warm throughput of the profile, marks the table as restored and prints the setting with which the stack adopts the table. Nothing changes for callers before the next deployment. After an interruption, run it again with the same time; another time needs another name.',
    'table restore commerce-prod-restored-1 --to 2026-01-31T12:00:00Z --settings profiles/prod.json --stack commerce-prod',
  )
    .argument('<name>', 'the new table')
    .option('--to <time>', 'such as 2026-01-31T12:00:00Z', parseTime)
    .addOption(settings)
    .addOption(stack)
    .action(async (target, { to: at, settings, stack: name }) => {
      const { restoreTableOf } = await import('../restore/restore.ts')
      const { 'storage.warmThroughput': warmThroughput } = await settingsOf(settings)
      const stack = await stackOf(name)
      const options = { target, at, warmThroughput }
      const restored = await withProgress((report) => restoreTableOf(stack, { ...options, report }))
      printFields({ 'storage.restoredTable': restored })
    })
  define(
    'table carry-over',
    'Carry over from the table of the stack to a restored table what a restore must not lose: the audit records of all tenants since a time, among them those of denials during a freeze of writes, and the API keys, sessions, accounts at the payment provider, legal holds, blocked tenants and subscribers with their deliveries as they stand now. A key that was revoked after the point in time is revoked, and a hold that was released is released. Orders that were erased since are erased, and tenants that were purged since are purged. Subscribers get nothing again that they got since the point in time. It refuses a table that was not restored from that of the stack, and if that one is gone or in another region, it says what could not be carried over. It reads both tables as a whole, and can be repeated until the stack adopts the restored table.',
    'table carry-over commerce-prod-restored-1 --from 2026-01-31T12:00:00Z --stack commerce-prod',
  )
    .argument('<name>', 'the restored table')
    .requiredOption('--from <time>', 'such as 2026-01-31T12:00:00Z', parseTime)
    .addOption(stack)
    .action(async (target, { from, stack: name }) => {
      const { carryOverOf } = await import('../restore/carry-over.ts')
      const stack = await stackOf(name)
      await printRows(await withProgress((report) => carryOverOf(stack, { target, from, report })))
    })
}

function definePreflight(define: Define): void {
  define(
    'preflight',
    'Check before a deployment whether a synthesized stack can replace the deployed one. It refuses a release id that was used, a new, empty table, user pool, key, bucket, secret or vault in place of the one with the data, a gradual rollout of another table, of a stack that was rolled back, or that takes a permission from a function that the release before still uses, shards that the lists of a release would miss, a deployment with -c freeze of functions that still have provisioned concurrency, credentials of another account or region than the profile names, a restored table that does not exist, a region without a service that the stack needs, more reserved executions than the account has left, a domain or a mail identity that another stage or the account has already, and a user pool that sends from a domain before SES has verified it. It prints all reasons and exits with 1. For the first deployment of a stack, only those since the credentials apply.',
    'preflight --app cdk.out/prod --stack commerce-prod',
  )
    .option('--app <folder>', 'the output of cdk synth', 'cdk.out')
    .addOption(awsStack)
    .action(async ({ app, stack }) => {
      const { synthesizedStack } = await import('../preflight/assembly.ts')
      const { preflight } = await import('../preflight/preflight.ts')
      const reasons = await preflight(synthesizedStack(app, stack))
      if (reasons.length > 0)
        throw new Error([`${stack} must not be deployed:`, ...reasons.map((one) => `  ${one}.`)].join('\n'))
      printFields({ stack, may_be_deployed: true })
    })
}

function defineRollback(define: Define): void {
  define(
    'rollback',
    'Move all functions back to the release that served before. It moves the aliases of endpoints, consumers, workflow steps and triggers at once, without CodeDeploy. Releases that were rolled back are remembered: no later rollback goes to them, unless --to names one. It refuses a release that uses another table or reads fewer shards than hold items, and exits with 1 if there is nothing to do. The next deployment needs -c rollout=bypass.',
    'rollback --stack commerce-prod --dry-run',
    'rollback --stack commerce-prod',
  )
    .addOption(awsStack)
    .option('--to <release>', 'another release, also one that was rolled back')
    .option('--dry-run', 'only print what it would do', false)
    .addOption(yes)
    .action(async ({ stack, to: asked, dryRun, yes }) => {
      if (!dryRun) assertCanAsk(`Roll back ${stack}?`, yes)
      const { planRollback, rollBack } = await import('./rollback.ts')
      const rollback = await planRollback(stack, asked)
      const { from, to, rolledBack, functions, staying } = rollback
      if (!dryRun) {
        await confirm(`Roll back ${stack} from ${from} to ${to}?`, yes)
        await withProgress(() => rollBack(rollback))
      }
      printFields({
        from,
        to,
        rolled_back: rolledBack,
        functions: functions.length,
        not_in_release: staying,
        dry_run: dryRun,
        next_deployment: 'add -c rollout=bypass',
      })
    })
  define(
    'releases',
    'List the releases of a stack whose versions are kept, newest first: how many functions have a version of each, how many serve it, and whether it was rolled back. With --prune, first delete the versions of old releases, which count against the quota of code, after each deployment. Versions that an alias invokes are kept.',
    'releases --stack commerce-prod',
    'releases --prune --stack commerce-prod',
  )
    .addOption(awsStack)
    .option('--prune', 'delete the versions of all but the newest releases', false)
    .option('--keep <number>', 'with --prune: how many releases to keep', parseWholeNumber, 10)
    .action(async ({ stack, prune, keep }) => {
      if (keep < 2) throw new UsageError('--keep takes at least 2: a rollback needs an older release.')
      const { clients, pruneReleases, releasedFunctions, releasesOf } = await import('./releases.ts')
      if (prune) {
        const deleted = await withProgress(() => pruneReleases(stack, keep, clients()))
        console.error(`${deleted} versions were deleted.`)
      }
      await printRows(releasesOf(await releasedFunctions(stack, clients())))
    })
}

function defineDescriptions(define: Define): void {
  define(
    'runbook',
    'Write what to do about each alarm as Markdown. With --stack, the commands name the resources of that stack.',
    'runbook --out runbook.md',
    'runbook --stack commerce-prod --out runbook.md',
  )
    .option('--out <file>', 'a file instead of standard output')
    .option('--stack <name>', 'the stack of your AWS account')
    .action(async ({ out, stack }) => {
      const { runbook, runbookOf } = await import('./runbook.ts')
      const page = stack === undefined ? runbook() : runbookOf(stack, (await stackOf(stack)).outputs)
      if (out === undefined) process.stdout.write(page)
      else await writeFile(out, page)
    })
  define(
    'reference',
    'Write the pages for API consumers into a folder that any web server can serve. With --url the pages can call operations of that service, if its settings allow the origin of the pages.',
    'reference --out site --url https://api.acme.cloud --settings profiles/prod.json',
  )
    .requiredOption('--out <folder>', 'the folder')
    .option('--url <address>', 'the service that the pages call')
    .addOption(settings)
    .action(async ({ out, url, settings }) => {
      const { referenceSite } = await import('../../describe/reference/site.ts')
      const site = await referenceSite(await settingsOf(settings), url ? { base_url: url } : undefined)
      await mkdir(out, { recursive: true })
      for (const [file, content] of site) await writeFile(join(out, file), content)
      printFields({ folder: out, files: site.size })
    })
}

function defineProfile(define: Define): void {
  define(
    'profile check',
    'Check a profile for a stage, as a synthesis does: what is missing or wrong. For one without such problems it lists the settings with values of the examples, those that equal its base, what is to decide before customers use the stage, what the operator leaves to the base, and the open points of the API that the base answers (docs/settings.md).',
    'profile check profiles/prod.json --stage prod',
  )
    .argument('<file>', 'the profile')
    .requiredOption('--stage <name>', 'dev, staging or prod')
    .action(async (file, { stage }) => {
      const { checkProfile } = await import('./check-profile.ts')
      const check = await checkProfile(file, stage)
      printFields(check)
      const { placeholders, to_decide } = check
      if (placeholders.length > 0) {
        console.error(
          `${file} cannot be deployed: replace the values of the example in ${placeholders.join(', ')}.`,
        )
        process.exitCode = 1
        return
      }
      const open = to_decide.map(({ setting }) => setting).join(', ')
      console.error(
        `${file} is complete for stage ${stage}.${open && ` Before customers use it, decide ${open}.`}`,
      )
    })
}
