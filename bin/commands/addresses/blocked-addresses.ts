import { isIPv6 } from 'node:net'
import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import {
  GetIPSetCommand,
  UpdateIPSetCommand,
  WAFOptimisticLockException,
  WAFV2Client,
} from '@aws-sdk/client-wafv2'
import { stackResources } from '../stack/stack-resources.ts'

/** The access to the sets of blocked addresses of a deployment. */
export interface BlockingStack {
  /** `commerce-<stage>`. */
  name: string
  cloudFormation: CloudFormationClient
  waf: WAFV2Client
}

/** A set of blocked addresses, of one version of IP. */
interface AddressSet {
  version: 4 | 6
  Name: string
  Id: string
}

export function blockingStack(name: string): BlockingStack {
  return { name, cloudFormation: new CloudFormationClient({}), waf: new WAFV2Client({}) }
}

/** Returns the blocked addresses and ranges in CIDR notation. */
export async function listBlocked(stack: BlockingStack): Promise<string[]> {
  const lists = (await setsOf(stack)).map(async (set) => (await read(stack, set)).addresses)
  return (await Promise.all(lists)).flat()
}

/** Blocks an address, or a range in CIDR notation. @returns it in CIDR notation */
export function block(stack: BlockingStack, address: string): Promise<string> {
  return change(stack, address, (addresses, range) => [...new Set([...addresses, range])])
}

/** Admits a blocked address or range again. @returns it in CIDR notation @throws Error if it is not blocked */
export function unblock(stack: BlockingStack, address: string): Promise<string> {
  return change(stack, address, (addresses, range) => {
    if (addresses.includes(range)) return addresses.filter((one) => one !== range)
    throw new Error(`${range} is not blocked: the list shows what is`)
  })
}

/** Two commands at once conflict: the later one reads the set again. */
const attempts = 5

async function change(
  stack: BlockingStack,
  address: string,
  changed: (addresses: string[], range: string) => string[],
): Promise<string> {
  const version = isIPv6(address.split('/')[0] ?? '') ? 6 : 4
  const range = address.includes('/') ? address : `${address}/${version === 6 ? 128 : 32}`
  const set = (await setsOf(stack)).find((one) => one.version === version)
  if (!set) throw new Error(`${stack.name} has no set for IPv${version}`)
  for (let attempt = 1; ; attempt += 1) {
    const { addresses, LockToken } = await read(stack, set)
    const { Name, Id } = set
    const update = { Name, Id, Scope: 'REGIONAL' as const, LockToken, Addresses: changed(addresses, range) }
    try {
      await stack.waf.send(new UpdateIPSetCommand(update))
      return range
    } catch (thrown) {
      if (!(thrown instanceof WAFOptimisticLockException) || attempt === attempts) throw thrown
    }
  }
}

async function read({ waf }: BlockingStack, { Name, Id }: AddressSet) {
  const { IPSet, LockToken } = await waf.send(new GetIPSetCommand({ Name, Id, Scope: 'REGIONAL' }))
  return { addresses: IPSet?.Addresses ?? [], LockToken }
}

async function setsOf({ name, cloudFormation }: BlockingStack): Promise<AddressSet[]> {
  const resources = await stackResources(name, cloudFormation)
  const sets = resources.filter(({ type }) => type === 'AWS::WAFv2::IPSet')
  if (sets.length === 0)
    throw new Error(`${name} has no web ACL: set webAcl of stages.dev to true and deploy`)
  return sets.map(({ logicalId, physicalId }) => {
    // CloudFormation's id of a set is its name, its id and its scope.
    const [Name = '', Id = ''] = physicalId.split('|')
    return { version: logicalId.startsWith('BlockedIpv6') ? 6 : 4, Name, Id }
  })
}
