import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { commandName, createProgram, leavesOf } from '#bin/cli/program.ts'
import { commandActions, dataActions, findStack, firstActions } from '#bin/permissions/command-actions.ts'
import { firstIdAt } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { mayRead } from './console-policy.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Job {
  needs?: string | string[]
  environment?: string
  if?: string
  permissions?: Record<string, string>
  env?: Record<string, string>
  steps: { run?: string; uses?: string; with?: Record<string, string>; 'continue-on-error'?: boolean }[]
}

describe('the pipeline', () => {
  const pipeline = parse(read('docs/examples/github-actions.yml')) as { jobs: Record<string, Job> }
  const { jobs } = pipeline
  const runsOf = (job: string) => jobs[job]?.steps.flatMap(({ run }) => run ?? []) ?? []

  test('runs the checks before staging, and staging before production', () => {
    expect([jobs.staging?.needs, jobs.production?.needs]).toEqual([['check', 'synth'], 'staging'])
  })

  test.each(['staging', 'production'])('checks %s before its deployment, and verifies it after', (job) => {
    const [, preflight, deploy, verify] = runsOf(job)
    expect(preflight).toMatch(/^npx commerce preflight --app cdk\.out/)
    expect(deploy).toMatch(/^npx cdk deploy --all --app cdk\.out/)
    expect(verify).toMatch(/^npx commerce verify /)
  })

  test.each(['staging', 'production'])('deletes the versions of old releases of %s last', (job) => {
    expect(runsOf(job).at(-1)).toMatch(/^npx commerce releases --prune /)
  })

  test.each(['staging', 'production'])('does not fail the deployment of %s if only that fails', (job) => {
    const lenient = jobs[job]?.steps.filter((step) => step['continue-on-error'])
    expect(lenient?.map(({ run }) => run)).toEqual([runsOf(job).at(-1)])
  })

  test('synthesizes a new release in each run, and bypasses CodeDeploy if it is started with that', () => {
    const { RELEASE = '', ROLLOUT = '' } = jobs.synth?.env ?? {}
    expect(RELEASE).toMatch(/^-c release=.*github\.run_id.*github\.run_attempt/)
    expect(ROLLOUT).toContain("inputs.rollout == 'bypass' && '-c rollout=bypass'")
    for (const synthesis of runsOf('synth').filter((run) => run.startsWith('npx cdk synth')))
      expect(synthesis).toContain(' $RELEASE $ROLLOUT ')
  })

  test('deploys only from main, to environments that require approval', () => {
    const deployments = [jobs.staging, jobs.production].map((job) => [job?.if, job?.environment])
    expect(deployments).toEqual([
      ["github.ref == 'refs/heads/main'", 'staging'],
      ["github.ref == 'refs/heads/main'", 'production'],
    ])
  })

  test('comments the difference on pull requests', () => {
    expect(runsOf('diff').join('\n')).toMatch(/npx cdk diff .*-c release=\$RELEASE.*gh pr comment/s)
  })

  test('gets credentials by OIDC, only in the jobs that need them', () => {
    const withCredentials = Object.entries(jobs).filter(([, { steps }]) =>
      steps.some(({ uses }) => uses?.startsWith('aws-actions/configure-aws-credentials')),
    )
    const withTokens = Object.entries(jobs).filter(
      ([, { permissions }]) => permissions?.['id-token'] === 'write',
    )
    expect(withCredentials.map(([name]) => name)).toEqual(['diff', 'staging', 'production'])
    expect(withTokens).toEqual(withCredentials)
  })

  test('contains no long-lived key', () => {
    expect(read('docs/examples/github-actions.yml')).not.toMatch(/aws-access-key-id|secrets\./i)
  })
})

test.each(['docs/examples/github-actions.yml', '.github/workflows/ci.yml'])(
  '%s uses actions of one commit, which no tag can replace',
  (file) => {
    const actions = read(file).match(/uses:.*/g) ?? []
    expect(actions).not.toEqual([])
    expect(actions.filter((action) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v[\d.]+$/.test(action))).toEqual(
      [],
    )
  },
)

describe('the policy of operators', () => {
  const actions = actionsIn('docs/examples/operator-policy.json')

  test.each(Object.keys(commandActions))('permits %s', (command) => {
    expect(actions).toEqual(expect.arrayContaining([findStack, ...(commandActions[command] ?? [])]))
  })

  test('permits the questions of a first stage, and the check of the data', () => {
    expect(actions).toEqual(expect.arrayContaining([...firstActions, ...dataActions]))
  })

  test('names actions individually', () => {
    expect(actions.filter((action) => action.includes('*'))).toEqual([])
  })
})

describe('the policy of the console', () => {
  const actions = actionsIn('docs/examples/console-policy.json')

  test('permits what the console reads', () => {
    expect(actions).toEqual(expect.arrayContaining([findStack, ...(commandActions.console ?? [])]))
  })

  test('permits no change: a dead letter that was looked at returns to its queue', () => {
    const reading =
      /:(Describe|Get|List|Query$|BatchGet|StartQuery$|Decrypt$|ReceiveMessage$|ChangeMessageVisibility$)/
    expect(actions.filter((action) => !reading.test(action))).toEqual([])
  })

  test('permits to look at messages of no queue but those of dead letters', () => {
    const { Statement } = JSON.parse(read('docs/examples/console-policy.json'))
    const receiving = Statement.filter(({ Action }: { Action: string[] }) =>
      Action.includes('sqs:ReceiveMessage'),
    )
    expect(receiving.map(({ Resource }: { Resource: string }) => Resource)).toEqual([
      expect.stringMatching(/:commerce-\*DeadLetters\*$/),
    ])
  })

  test.each(['order', 'refund', 'code', 'audit', 'ledger', 'delivery', 'subscriber', 'api_key'] as const)(
    'permits to read items of the kind %s',
    (kind) => {
      const { pk } = keyOf('acme', kind, firstIdAt(0))
      expect(['GetItem', 'BatchGetItem', 'Query'].filter((call) => mayRead(call, [pk]))).toHaveLength(3)
    },
  )

  test.each([
    ...(['customer', 'session', 'account', 'legal_hold', 'cart_line'] as const).map(
      (kind) => keyOf('acme', kind, 'x').pk,
    ),
    ...['otp#x', 'rate#x', 'password_reset#acme#1', 'import_chunk#x', 'blocked-tenants'],
  ])('permits to read no %s, alone or with others', (pk) => {
    const order = keyOf('acme', 'order', firstIdAt(0)).pk
    for (const keys of [[pk], [order, pk], []])
      expect(['GetItem', 'BatchGetItem', 'Query'].filter((call) => mayRead(call, keys))).toEqual([])
  })

  test('permits to read the records of requests by their keys only, which nobody can list', () => {
    const calls = ['GetItem', 'BatchGetItem', 'Query', 'Scan']
    expect(calls.filter((call) => mayRead(call, ['idempotency#x']))).toEqual(['BatchGetItem'])
  })

  test('fits into the 6,144 characters of a managed policy', () => {
    const policy = JSON.parse(read('docs/examples/console-policy.json'))
    expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144)
  })

  test('permits no secret but the key of the hashes of codes', () => {
    expect(read('docs/examples/console-policy.json').match(/secret:\w+/g)).toEqual(['secret:CodesSecret'])
  })
})

describe('the AWS actions of the commands', () => {
  const names = new Set(Object.values(commandActions).flatMap((actions) => actions.map(nameOfAction)))
  for (const action of [findStack, ...firstActions, ...dataActions]) names.add(nameOfAction(action))
  const commandFiles = readdirSync(join(root, 'bin/commands'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts'),
  )
  const calls = commandFiles.flatMap((file) =>
    [...read(`bin/commands/${file}`).matchAll(/new ([A-Z]\w+)Command\(|paginate([A-Z]\w+)\(/g)].map(
      ([, call = '', paged = '']) => call || paged,
    ),
  )

  test.each([...new Set(calls)])('include the call %s', (call) => {
    // IAM has one action for a message and a batch of messages. The document client shortens a name.
    const renamed: Record<string, string> = {
      Invoke: 'InvokeFunction',
      DeleteMessageBatch: 'DeleteMessage',
      BatchGet: 'BatchGetItem',
      BatchWrite: 'BatchWriteItem',
      DeleteObjects: 'DeleteObject',
      ListObjectsV2: 'ListBucket',
      GetBucketEncryption: 'GetEncryptionConfiguration',
    }
    expect(names).toContain(renamed[call] ?? call)
  })

  test('are listed for every command with --stack, and for no other', () => {
    const withStack = leavesOf(createProgram()).filter(({ options }) =>
      options.some(({ long }) => long === '--stack'),
    )
    expect(Object.keys(commandActions).sort()).toEqual(withStack.map(commandName).sort())
  })

  test.each(['verify', 'releases'])('of %s are in the policy of the pipeline', (command) => {
    const allowed = actionsIn('docs/examples/pipeline-policy.json')
    expect(allowed).toEqual(expect.arrayContaining([findStack, ...(commandActions[command] ?? [])]))
  })

  test('lets the pipeline use the key of the stage through the service that stores the webhook secret', () => {
    const { Statement } = JSON.parse(read('docs/examples/pipeline-policy.json'))
    const key = Statement.find(({ Action }: { Action: string[] }) => Action.includes('kms:Decrypt'))
    expect(key.Condition.StringLike['kms:ViaService']).toContain('secretsmanager.*.amazonaws.com')
  })

  test('give the pipeline no secret but that of webhooks', () => {
    expect(read('docs/examples/pipeline-policy.json').match(/secret:\w+/g)).toEqual(['secret:WebhooksSecret'])
  })
})

function nameOfAction(action: string): string {
  return action.split(':')[1] ?? ''
}

function actionsIn(file: string): string[] {
  const { Statement } = JSON.parse(read(file)) as { Statement: { Action: string | string[] }[] }
  return Statement.flatMap(({ Action }) => Action)
}
