import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { Units } from '#shared/platform/base/units.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { assertRunning, awsAccessOf, runningService } from '../../local/service-file.ts'

/** Access of the commands to a deployment of the service. */
export interface DeployedStack {
  /** The outputs of the stack, by name. */
  outputs: Readonly<Record<string, string>>
  /** The configuration of AWS clients. */
  access: {
    /** That of the local run; absent on AWS. */
    endpoint?: string
    region?: string
    credentials?: { accessKeyId: string; secretAccessKey: string }
  }
  /** The address of the payment provider of the local run, which may differ from that in the settings. */
  providerUrl?: string
}

/** Returns the stack of this name in the account and region of the environment; without a name, the local run. */
export async function deployedStack(StackName: string | undefined): Promise<DeployedStack> {
  if (StackName === undefined) {
    const hint = ', or use --stack'
    const service = runningService(hint)
    await assertRunning(service, hint)
    const { outputs, provider_url: providerUrl } = service
    return { outputs, access: awsAccessOf(service), ...(providerUrl !== undefined && { providerUrl }) }
  }
  const client = new CloudFormationClient({})
  const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName }))
  const outputs = stack?.Outputs?.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue])
  return { outputs: Object.fromEntries(outputs ?? []), access: {} }
}

/** @throws Error if the stack has no such output */
export function outputOf({ outputs }: DeployedStack, name: string): string {
  const value = outputs[name]
  if (value === undefined) throw new Error(`the stack has no output ${name}`)
  return value
}

/**
 * Opens the table of a deployment. A command may read a large table for hours, so only the attempts of each call are limited.
 * @param units receives what the calls consume
 */
export function openTable(stack: DeployedStack, units?: Units): Table {
  const client = new DynamoDBClient(stack.access)
  const budget = startBudget(systemClock, Number.POSITIVE_INFINITY)
  const access = { clock: systemClock, budget, ...(units && { units }) }
  return dynamodbTable(client, outputOf(stack, 'TableName'), access)
}

/** Returns the address of the API of a deployment, without a slash at its end. */
export function baseUrlOf(stack: DeployedStack, url?: string): string {
  return (url ?? outputOf(stack, 'BaseUrl')).replace(/\/$/, '')
}
