import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { command, type Options, type Values } from './command.ts'
import { runningService } from './local/service-file.ts'

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

/** Runs a command on the stack that `--stack` names, or on the local run. */
export function stackCommand<const Of extends Options>(
  usage: string,
  options: Of,
  run: (values: Values<Of> & { stack: string | undefined }, stack: DeployedStack) => Promise<void>,
): Promise<void> {
  const about =
    'Without --stack it works on the local run; with it, on that stack of the account and region of the environment.'
  return command(`${usage}\n${about}`, { ...options, stack: 'optional' }, async (parsed) => {
    const values = parsed as Values<Of> & { stack: string | undefined }
    await run(values, values.stack === undefined ? localStack() : await namedStack(values.stack))
  })
}

function localStack(): DeployedStack {
  const { aws_endpoint: endpoint, region, outputs } = runningService('--stack')
  return {
    outputs,
    access: { endpoint, region, credentials: { accessKeyId: 'local', secretAccessKey: 'local' } },
  }
}

/** Returns a stack of the account and region of the environment. */
export async function namedStack(StackName: string): Promise<DeployedStack> {
  const { Stacks: [stack] = [] } = await new CloudFormationClient({}).send(
    new DescribeStacksCommand({ StackName }),
  )
  const outputs = stack?.Outputs?.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue])
  return { outputs: Object.fromEntries(outputs ?? []), access: {} }
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
