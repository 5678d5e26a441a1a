import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  GetRolePolicyCommand,
  IAMClient,
  ListRolePoliciesCommand,
  ListRolesCommand,
  PutRolePolicyCommand,
} from '@aws-sdk/client-iam'
import { expect, test } from '@jest/globals'
import { directoryOf } from '#bin/local/local-service.ts'
import type { Deployment } from './deployment.ts'

interface Policy {
  role: string
  name: string
  statements: { Effect: string; Action: string | string[] }[]
}

/** Granted actions that the engine performs without asking for a permission, or that only a failure needs. */
const unchecked: Readonly<Record<string, RegExp>> = {
  'the engine writes logs and traces itself': /^(logs|xray):/,
  'the engine polls queues for a function':
    /^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes|ChangeMessageVisibility)$/,
  'the engine reads the stream for a function':
    /^dynamodb:(DescribeStream|GetRecords|GetShardIterator|ListStreams)$/,
  'the engine runs schedules and the workflow without their roles':
    /^(lambda:InvokeFunction|states:(DescribeExecution|StopExecution))$/,
  'an upload is aborted only after a failure': /^s3:AbortMultipartUpload$/,
}

const actionIn = (grant: string) => grant.split(' ')[1] ?? ''
const isUnchecked = (action: string) => Object.values(unchecked).some((actions) => actions.test(action))
const actionsOf = ({ statements }: Policy) => statements.flatMap(({ Action }) => Action)

/** The inline policies of the roles of the stack. */
async function policiesOf(iam: IAMClient): Promise<Policy[]> {
  const { Roles = [] } = await iam.send(new ListRolesCommand({ MaxItems: 1000 }))
  const names = Roles.map(({ RoleName = '' }) => RoleName).filter((name) =>
    name.startsWith('commerce-local-'),
  )
  const policies = names.map(async (RoleName) => {
    const { PolicyNames = [] } = await iam.send(new ListRolePoliciesCommand({ RoleName }))
    return Promise.all(
      PolicyNames.map(async (PolicyName) => {
        const { PolicyDocument = '' } = await iam.send(new GetRolePolicyCommand({ RoleName, PolicyName }))
        const { Statement } = JSON.parse(decodeURIComponent(PolicyDocument))
        return { role: RoleName, name: PolicyName, statements: [Statement].flat() }
      }),
    )
  })
  return (await Promise.all(policies)).flat()
}

/** The decisions that the engine recorded, as `ROLE ACTION allowed|denied`. */
function decisionsOf({ aws_endpoint }: Deployment): string[] {
  const file = join(directoryOf(Number(new URL(aws_endpoint).port)), 'permissions.log')
  return readFileSync(file, 'utf8').trim().split('\n')
}

/** Checks that the deployed functions run with the permissions of their roles. Call it after all other tests. */
export function permissionsOverHttp(running: () => Deployment): void {
  test('no function was denied an action', () => {
    expect(decisionsOf(running()).filter((line) => line.endsWith(' denied'))).toEqual([])
  })

  test('each granted action was used by a function, except those listed with a reason', async () => {
    const used = decisionsOf(running()).map((line) => line.replace(/ (allowed|denied)$/, ''))
    const granted = (await policiesOf(new IAMClient(running().aws))).flatMap((policy) =>
      actionsOf(policy).map((action) => `${policy.role} ${action}`),
    )
    const checked = [...new Set(granted)].filter((grant) => !isUnchecked(actionIn(grant)))
    console.log(
      `permissions used: ${checked.filter((grant) => used.includes(grant)).length} of ${checked.length}`,
    )
    const usedActions = new Set(used.map(actionIn))
    const actions = [...new Set(checked.map(actionIn))]
    expect(actions.filter((action) => !usedActions.has(action))).toEqual([])
  })

  removedPermission(running)
}

type Statements = Policy['statements']

/** Checks that a function fails without one action of its role, and without one kind of items. */
function removedPermission(running: () => Deployment): void {
  test.each<[string, (statements: Statements) => Statements]>([
    ['write to the table', withoutPut],
    ['write orders', withoutOrders],
  ])('an order is not stored if the role of its function cannot %s', async (lacking, without) => {
    const service = running()
    const iam = new IAMClient(service.aws)
    const policies = (await policiesOf(iam)).filter(({ role }) => role.includes('OrdersCreate'))
    const store = (change: (statements: Statements) => Statements) =>
      Promise.all(
        policies.map(({ role, name, statements }) => {
          const document = { Version: '2012-10-17', Statement: change(statements) }
          const PolicyDocument = JSON.stringify(document)
          return iam.send(new PutRolePolicyCommand({ RoleName: role, PolicyName: name, PolicyDocument }))
        }),
      )
    const create = (key: string) =>
      service.placeOrder('unpermitted', `${key}-${lacking.replaceAll(' ', '-')}`)
    await store(without)
    const denied = await create('denied')
    await store((statements) => statements)
    const allowed = await create('allowed')
    expect(denied.status).toBeGreaterThanOrEqual(500)
    expect(allowed.headers.get('idempotency-status')).toBe('stored')
  })
}

function withoutPut(statements: Statements): Statements {
  const others = statements.map((statement) => ({
    ...statement,
    Action: [statement.Action].flat().filter((action) => action !== 'dynamodb:PutItem'),
  }))
  return others.filter(({ Action }) => Action.length > 0)
}

function withoutOrders(statements: Statements): Statements {
  return JSON.parse(JSON.stringify(statements).replaceAll('"order#*"', '"none#*"'))
}
