import { readFile } from 'node:fs/promises'
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SERVICE_FILE } from '#bin/local/service-file.ts'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'

/** Access of the commands to a deployment of the service. */
export interface DeployedStack {
  /** The outputs of the stack, by name. */
  outputs: Readonly<Record<string, string>>
  /** The configuration of AWS clients. */
  access: {
    endpoint?: string
    region?: string
    credentials?: { accessKeyId: string; secretAccessKey: string }
  }
}

/** The part about `--stack` in the usage of each command. */
export const stackUsage =
  'Without --stack it works on the local run; with it, on that stack of the account and region of the environment.'

/** Returns the stack named on the command line, or that of the local run. */
export async function deployedStack(name: string | undefined): Promise<DeployedStack> {
  return name === undefined ? localStack() : namedStack(name)
}

async function localStack(): Promise<DeployedStack> {
  const text = await readFile(SERVICE_FILE, 'utf8').catch(() => {
    throw new Error('the local service is not running: start it with npm start, or name a --stack')
  })
  const { aws_endpoint: endpoint, region, outputs } = JSON.parse(text)
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  return { outputs, access: { endpoint, region, credentials } }
}

async function namedStack(name: string): Promise<DeployedStack> {
  const client = new CloudFormationClient({})
  const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: name }))
  const outputs = (stack?.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [
    OutputKey,
    OutputValue,
  ])
  return { outputs: Object.fromEntries(outputs), access: {} }
}

/** @throws Error if the stack has no such output */
export function outputOf({ outputs }: DeployedStack, name: string): string {
  const value = outputs[name]
  if (value === undefined) throw new Error(`the stack has no output ${name}`)
  return value
}

/** Opens the table of a deployment, for work that may take ten minutes. */
export function openTable(stack: DeployedStack): Table {
  const client = new DynamoDBClient(stack.access)
  return dynamodbTable(client, outputOf(stack, 'TableName'), systemClock, startBudget(systemClock, 600_000))
}
