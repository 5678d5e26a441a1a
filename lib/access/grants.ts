import { Names, Stack, Token, Validations } from 'aws-cdk-lib'
import { Grant, type IGrantable, type IRole, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { CfnBucket } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import type { TableUse } from '#shared/platform/table/table.ts'
import { grantKey } from './key-grants.ts'
import { machineOf, type Resources, type Right, rights } from './rights.ts'
import { grantTable } from './table-grants.ts'

/** What a function declares to use. */
export interface Uses {
  uses: readonly Right[]
  table?: TableUse | undefined
}

/** Returns the environment variables that name the resources that a function uses. */
export function resourceVariables({ uses, table }: Uses, resources: Resources): Record<string, string> {
  const ofTable = table && { TABLE_NAME: resources.table.tableName }
  return Object.assign({}, ofTable, ...uses.map((use) => rights[use].variables?.(resources)))
}

export function grantUses(grantee: IFunction, { uses, table }: Uses, resources: Resources): void {
  const onTable = table ? grantTable(grantee, table, resources.table) : []
  const accesses = uses.map((use) => rights[use])
  for (const { actions, on } of accesses) {
    const arns = [on(resources)].flat()
    if (actions.length > 0 && arns.length > 0) grant(grantee, actions, arns)
  }
  grantKey(grantee, resources.key, [...onTable, ...accesses.flatMap(({ actions }) => actions)])
  const { role } = grantee
  if (!role) return
  for (const folder of new Set(accesses.flatMap(({ folder = [] }) => folder)))
    acknowledgeFolder(role, folder, resources)
  if (uses.includes('imports.describe')) {
    const reason = 'A run gets its name when it starts. The permission covers only the runs of this workflow.'
    acknowledgeRuns(role, `${machineOf(resources).name}:*`, reason)
  }
}

/** Returns a service that may assume a role only for resources of this account. No other account can make it use the role. */
export function serviceOfAccount(scope: Construct, service: string): ServicePrincipal {
  return new ServicePrincipal(service, {
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
  })
}

export function grant(grantee: IGrantable, actions: readonly string[], resourceArns: string[]): void {
  Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns })
}

/** States why a permission on all objects of a folder is not too broad. */
function acknowledgeFolder(role: IRole, folder: string, { files }: Pick<Resources, 'files'>): void {
  const bucket = files.node.defaultChild as CfnBucket
  const main = Stack.of(files)
  // A nested stack gets the ARN of the bucket as a parameter, which CDK names so.
  const arn =
    Stack.of(role) === main
      ? `${main.getLogicalId(bucket)}.Arn`
      : `referenceto${Names.nodeUniqueId(bucket.node)}Arn`
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${arn}>/${folder}*]`,
    reason: `Objects get their names when they are written. The permission covers only the folder ${folder}.`,
  })
}

/** States why a permission on the runs of a workflow is not too broad. */
export function acknowledgeRuns(role: IRole, runs: string, reason: string): void {
  const { partition, region, account } = Stack.of(role)
  // cdk-nag names a value that only the deployment knows by its pseudo parameter.
  const named = (value: string, parameter: string) =>
    Token.isUnresolved(value) ? `<AWS::${parameter}>` : value
  const place = `${named(region, 'Region')}:${named(account, 'AccountId')}`
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:${named(partition, 'Partition')}:states:${place}:execution:${runs}]`,
    reason,
  })
}

/** Lets a function's event source mapping read the stream of the table and send failed batches to a queue. */
export function grantStream(
  grantee: IGrantable,
  { streamArn, queueArn, key }: { streamArn: string; queueArn: string; key: Key | undefined },
): void {
  const reading = ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams']
  const actions = reading.map((action) => `dynamodb:${action}`)
  grant(grantee, actions, [streamArn])
  grantKey(grantee, key, actions)
  grant(grantee, ['sqs:SendMessage'], [queueArn])
  grantKey(grantee, key, ['sqs:SendMessage'])
}
