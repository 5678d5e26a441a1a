import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { commandLinesIn, unknownParts } from '#test/support/command-lines.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Job {
  needs?: string | string[]
  environment?: string
  if?: string
  permissions?: Record<string, string>
  env?: Record<string, string>
  steps: { run?: string; uses?: string; with?: Record<string, string> }[]
}

const pages = ['docs/deployment.md', 'docs/operations.md', 'docs/examples/github-actions.yml']
const commandLines = pages.flatMap((page) => commandLinesIn(read(page)).map((line) => ({ page, ...line })))

describe('the commands of the pages on deployment and operation', () => {
  test.each(commandLines)('$page: npx commerce $name takes $flags', (line) => {
    expect(unknownParts(line)).toEqual([])
  })

  test.each(pages.slice(0, 2))('%s links to existing files', (page) => {
    const links = [...read(page).matchAll(/\]\(([\w./-]+)\)/g)].map(([, link = '']) =>
      join(root, 'docs', link),
    )
    expect(links.filter((link) => !existsSync(link))).toEqual([])
  })
})

describe('the pipeline', () => {
  const pipeline = parse(read('docs/examples/github-actions.yml')) as { jobs: Record<string, Job> }
  const { jobs } = pipeline
  const runsOf = (job: string) => jobs[job]?.steps.flatMap(({ run }) => run ?? []) ?? []

  test('runs the checks before staging, and staging before production', () => {
    expect([jobs.staging?.needs, jobs.production?.needs]).toEqual([['check', 'synth'], 'staging'])
  })

  test.each(['staging', 'production'])('verifies %s immediately after its deployment', (job) => {
    const [, deploy, verify] = runsOf(job)
    expect(deploy).toMatch(/^npx cdk deploy --all --app cdk\.out/)
    expect(verify).toMatch(/^npx commerce verify /)
  })

  test.each(['staging', 'production'])('deletes the versions of old releases of %s last', (job) => {
    expect(runsOf(job).at(-1)).toMatch(/^npx commerce releases prune /)
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

describe('the policy of operators', () => {
  const policy = JSON.parse(read('docs/examples/operator-policy.json')) as {
    Statement: { Action: string | string[] }[]
  }
  const actions = policy.Statement.flatMap(({ Action }) => Action)
  const commandFiles = readdirSync(join(root, 'bin/commands')).filter((file) => file.endsWith('.ts'))
  /** The SDK calls of the commands. Calls through the table's port are listed by action below. */
  const calls = commandFiles.flatMap((file) =>
    [...read(`bin/commands/${file}`).matchAll(/new ([A-Z]\w+)Command\(|paginate([A-Z]\w+)\(/g)].map(
      ([, call = '', paged = '']) => call || paged,
    ),
  )

  test.each([...new Set(calls)])('permits the call %s of a command', (call) => {
    const names = actions.map((action) => action.split(':')[1])
    // IAM has one action for a message and a batch of messages. The document client shortens a name.
    const renamed: Record<string, string> = {
      Invoke: 'InvokeFunction',
      DeleteMessageBatch: 'DeleteMessage',
      BatchWrite: 'BatchWriteItem',
    }
    expect(names).toContain(renamed[call] ?? call)
  })

  test.each(['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'ConditionCheckItem'])(
    'permits dynamodb:%s, which commands need for audit records and transactions',
    (action) => {
      expect(actions).toContain(`dynamodb:${action}`)
    },
  )

  test('names actions individually', () => {
    expect(actions.filter((action) => action.includes('*'))).toEqual([])
  })
})
