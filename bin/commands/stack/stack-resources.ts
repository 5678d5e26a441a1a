import { type CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation'
import { pascalCase } from '#lib/functions/function-names.ts'

export interface StackResource {
  type: string
  logicalId: string
  physicalId: string
}

/** Returns the resources of a stack and of its nested stacks. */
export async function stackResources(
  StackName: string,
  client: CloudFormationClient,
): Promise<StackResource[]> {
  const found: StackResource[] = []
  for await (const page of paginateListStackResources({ client }, { StackName }))
    for (const summary of page.StackResourceSummaries ?? []) {
      const { ResourceType: type = '', LogicalResourceId: logicalId = '' } = summary
      const { PhysicalResourceId: physicalId = '' } = summary
      if (type === 'AWS::CloudFormation::Stack') found.push(...(await stackResources(physicalId, client)))
      else found.push({ type, logicalId, physicalId })
    }
  return found
}

/** Returns the ids of the nested stacks of a stack. */
export async function nestedStacks(StackName: string, client: CloudFormationClient): Promise<string[]> {
  const found: string[] = []
  for await (const page of paginateListStackResources({ client }, { StackName }))
    for (const { ResourceType, PhysicalResourceId: id = '' } of page.StackResourceSummaries ?? [])
      if (ResourceType === 'AWS::CloudFormation::Stack') found.push(id, ...(await nestedStacks(id, client)))
  return found
}

/** Returns the names at AWS of the functions of a stack, by their names in the service. */
export function functionNamesOf(resources: readonly StackResource[]): (name: string) => string {
  const byId = new Map(
    resources
      .filter(({ type }) => type === 'AWS::Lambda::Function')
      .map(({ logicalId, physicalId }) => [logicalId.replace(/[0-9A-F]{8}$/, ''), physicalId]),
  )
  return (name) => {
    const found = byId.get(pascalCase(name))
    if (found !== undefined) return found
    throw new Error(`the stack has no function ${name}: check out the release that is deployed`)
  }
}
