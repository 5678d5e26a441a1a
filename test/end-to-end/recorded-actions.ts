import { readFile } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { commandActions, findStack } from '#bin/permissions/command-actions.ts'
import type { Deployment } from './deployment.ts'

/** Actions for cases that the tests of the deployed stack do not bring about. */
const notPlayed: Record<string, string[]> = {
  // The search of logs is signed without a client of the SDK. The key is read for the text of a code.
  find: ['logs:GetQueryResults', 'logs:StartQuery'],
  // Failed work of any tenant, without --tenant.
  'operations list': ['dynamodb:BatchGetItem'],
  'deliveries list': ['dynamodb:BatchGetItem'],
  // A stage with backups.
  verify: ['dynamodb:DescribeContinuousBackups', 'dynamodb:DescribeTable'],
  // A new user whose password the pool rejects.
  'users set': ['cognito-idp:AdminDeleteUser'],
  // A message stays if an event of its period, of any item, was replaced by a later one.
  'dead-letters redrive': ['sqs:ChangeMessageVisibility'],
  // A freeze of all waits for the stream. A shift of requests to a new version ends only if there is one.
  freeze: ['cloudwatch:GetMetricStatistics', 'lambda:UpdateAlias'],
  // A hold on a whole tenant, which must have data.
  'holds set': ['dynamodb:Query'],
  // A purge that was killed: its lease has expired.
  'tenants unblock': ['dynamodb:DeleteItem'],
  // A stage that reserves concurrency.
  unfreeze: ['lambda:PutFunctionConcurrency'],
  // A profile that names an account and a region, a sender with a domain or a restored table, a deployment with -c freeze, and a stage
  // that reserves concurrency.
  preflight: [
    'cloudformation:DescribeType',
    'dynamodb:DescribeTable',
    'lambda:GetAccountSettings',
    'lambda:GetFunctionConcurrency',
    'lambda:GetProvisionedConcurrencyConfig',
    'ses:GetEmailIdentity',
    'sts:GetCallerIdentity',
  ],
}

/** Compares the calls that commands have made with the permissions that policies give them. */
export function recordedActions(deployment: () => Deployment, commands: readonly string[]): void {
  test.each(commands)('%s has called exactly the AWS actions of its table', async (name) => {
    const lines = (await readFile(deployment().recordedActions, 'utf8')).trim().split('\n')
    const calls = lines.map((line) => JSON.parse(line) as { command: string[]; action: string })
    const recorded = calls.filter(({ command }) => nameIn(command) === name).map(({ action }) => action)
    expect([...new Set(recorded.concat(notPlayed[name] ?? []))].sort()).toEqual(
      [...new Set([findStack, ...(commandActions[name] ?? [])])].sort(),
    )
  })
}

/** Returns the command that a command line names. `events` without another word is `events listen`. */
function nameIn(words: readonly string[]): string | undefined {
  const known = [words.slice(0, 2).join(' '), `${words[0]} listen`, String(words[0])]
  return known.find((name) => name in commandActions)
}
