import type { StandIn } from './procedures.ts'

const campaign = 'test/end-to-end/operations.campaign.test.ts'

/** The campaign that plays the commands below each heading of docs/operations.md, except for stand-ins. */
export const playedBy: Readonly<Record<string, string>> = {
  Freeze: campaign,
  'Restore the table to a point in time': 'test/end-to-end/restore-procedure.campaign.test.ts',
  'Dead letters': campaign,
  'Rotate the key that signs webhooks': campaign,
  'Rotate an API key, end a session': campaign,
  'Rotate a key of the service': campaign,
  Subscribers: campaign,
  'Connect the account of a tenant': campaign,
  'Compare refunds with the payment provider': campaign,
  'Legal hold': campaign,
  Erasure: campaign,
}

const facts = 'test/infrastructure/documented-facts.test.ts'
const operatorPolicy = 'test/infrastructure/operator-policy.test.ts'
const replicated = {
  because: 'the local AWS does not replicate secrets',
  test: { file: facts, title: 'the secrets that a second region needs are those of the stack' },
}
const withoutBackups = {
  because: 'the local stage has no backups',
  test: { file: operatorPolicy, title: 'permits %s, which docs/operations.md calls' },
}
const oneRegion = 'the local AWS is one region'

/** The commands below the headings of the page that the local AWS cannot play, with the tests that stand for them. */
export const standIns: Readonly<Record<string, readonly StandIn[]>> = {
  Losses: [
    {
      command: 'aws iam',
      because: 'the local AWS has no managed policies',
      test: {
        file: operatorPolicy,
        title: 'permits operators to pass the roles of backups and schedules, and no other',
      },
    },
  ],
  'Check the data': [
    {
      command: 'npx commerce verify --data',
      because: 'the local AWS writes no files for an export',
      test: {
        file: 'test/operators/table-export.test.ts',
        title: 'is read as DynamoDB writes it, with keys that begin %s',
      },
    },
  ],
  'Restore a nightly backup': [
    {
      command: 'VAULT=',
      because: 'the local stage has no backups',
      test: { file: facts, title: 'list the resources of a stack by a command that lists more than 100' },
    },
    { command: 'aws backup', ...withoutBackups },
    { command: 'TIME=', ...withoutBackups },
    {
      command: 'KEY=',
      because: 'the local stage has no key',
      test: { file: facts, title: 'a restored backup keeps the key of the stack' },
    },
  ],
  'Region or account lost': [
    {
      command: 'aws backup',
      because: 'the local stage has no backups',
      test: { file: 'test/infrastructure/facts.test.ts', title: 'on %s: %s' },
    },
    { command: 'VERSION=', ...replicated },
    { command: 'aws secretsmanager', ...replicated },
    {
      command: 'npx cdk deploy',
      because: oneRegion,
      test: {
        file: 'test/infrastructure/documented-commands.campaign.test.ts',
        title: '`%s` fails for the missing credentials',
      },
    },
    {
      command: 'GATEWAY=',
      because: oneRegion,
      test: { file: facts, title: 'name the output %s, which the stack has' },
    },
    {
      command: 'npx commerce freeze',
      because: oneRegion,
      test: { file: 'test/operators/freeze.test.ts', title: 'waits until the gateway refuses a write' },
    },
  ],
  'Rotate the key of the probe': [
    {
      command: 'npx commerce api-keys list',
      because: 'the local run has no probe',
      test: { file: 'test/identity/api-keys.test.ts', title: 'is listed without its secret' },
    },
    {
      command: 'PROBE_SECRET=',
      because: 'the local run has no probe',
      test: { file: facts, title: 'name the output %s, which the stack has' },
    },
    {
      command: 'npx commerce api-keys rotate',
      because: 'the local run has no probe',
      test: {
        file: operatorPolicy,
        title: 'permits operators to store the secrets that the pages let them store, and no other',
      },
    },
  ],
  'Rotate a key of the service': [
    {
      command: 'aws secretsmanager',
      because: 'the tests store the new value with the SDK',
      test: {
        file: 'test/subscribers/signing-secret.test.ts',
        title: 'opens after a rotation of the key',
      },
    },
  ],
}

/** Returns the commands of a procedure that no stand-in replaces. */
export function withoutStandIns(heading: string, commands: readonly string[]): string[] {
  const replaced = standIns[heading] ?? []
  return commands.filter((one) => !replaced.some(({ command }) => one.startsWith(command)))
}
