import { CloudFormationClient, type ListStackResourcesCommand } from '@aws-sdk/client-cloudformation'
import { WAFV2Client } from '@aws-sdk/client-wafv2'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createProgram } from '#bin/cli/program.ts'
import { type BlockingStack, block, listBlocked, unblock } from '#bin/commands/addresses/blocked-addresses.ts'
import { startFakeAws } from '../support/fake-aws.ts'

/** The content of the fake's sets by their ids. Each update needs the token of the latest read. */
const sets = new Map<string, { addresses: string[]; token: number }>()
/** How many updates find that another command changed the set. */
let conflicts = 0
const aws = await startFakeAws({
  'AWSWAF_20190729.GetIPSet'({ Id }) {
    const { addresses = [], token } = sets.get(String(Id)) ?? {}
    return { IPSet: { Addresses: addresses }, LockToken: String(token) }
  },
  'AWSWAF_20190729.UpdateIPSet'({ Id, Addresses, LockToken }) {
    const set = sets.get(String(Id))
    if (!set) throw new Error('there is no such set')
    if (conflicts > 0) {
      conflicts -= 1
      set.addresses.push('203.0.113.9/32')
      set.token += 1
    }
    if (LockToken !== String(set.token)) throw { __type: 'WAFOptimisticLockException' }
    sets.set(String(Id), { addresses: Addresses as string[], token: set.token + 1 })
    return {}
  },
})
afterAll(() => aws.stop())
beforeEach(() => {
  conflicts = 0
  for (const id of ['id-4', 'id-6']) sets.set(id, { addresses: [], token: 1 })
})

const resources = [
  ['BlockedIpv4', 'commerce-prod-blocked-ipv4|id-4|REGIONAL'],
  ['BlockedIpv6', 'commerce-prod-blocked-ipv6|id-6|REGIONAL'],
]
const send = async (_: ListStackResourcesCommand) => ({
  StackResourceSummaries: resources.map(([LogicalResourceId, PhysicalResourceId]) => ({
    ...{ ResourceType: 'AWS::WAFv2::IPSet', LogicalResourceId, PhysicalResourceId },
  })),
})
const stack: BlockingStack = {
  name: 'commerce-prod',
  cloudFormation: Object.assign(new CloudFormationClient(aws.access), { send }),
  waf: new WAFV2Client(aws.access),
}

test('a stack without a web ACL blocks nothing, and says how to get one', async () => {
  const none = { ...stack, name: 'commerce-dev' }
  none.cloudFormation = Object.assign(new CloudFormationClient(aws.access), {
    send: async () => ({ StackResourceSummaries: [] }),
  })
  for (const run of [() => block(none, '192.0.2.7'), () => listBlocked(none)])
    await expect(run()).rejects.toThrow('commerce-dev has no web ACL: set webAcl of stages.dev to true')
})

describe('a blocked address', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7/32', 'id-4'],
    ['192.0.2.0/24', '192.0.2.0/24', 'id-4'],
    ['2001:db8::7', '2001:db8::7/128', 'id-6'],
    ['2001:db8::/32', '2001:db8::/32', 'id-6'],
  ])('%s is in the set of its version of IP as %s', async (address, range, id) => {
    expect(await block(stack, address)).toBe(range)
    expect(sets.get(id)?.addresses).toEqual([range])
  })

  test('keeps the others blocked', async () => {
    await block(stack, '192.0.2.7')
    await block(stack, '2001:db8::7')
    await block(stack, '192.0.2.8')
    expect(await listBlocked(stack)).toEqual(['192.0.2.7/32', '192.0.2.8/32', '2001:db8::7/128'])
  })

  test('is listed once if it is blocked twice', async () => {
    for (let n = 0; n < 2; n += 1) await block(stack, '192.0.2.7')
    expect(await listBlocked(stack)).toEqual(['192.0.2.7/32'])
  })

  test('is blocked beside one that another command blocked at the same time', async () => {
    conflicts = 1
    await block(stack, '192.0.2.7')
    expect(await listBlocked(stack)).toEqual(['203.0.113.9/32', '192.0.2.7/32'])
  })

  test('is admitted again', async () => {
    await block(stack, '192.0.2.7')
    await unblock(stack, '192.0.2.7')
    expect(await listBlocked(stack)).toEqual([])
  })
})

test('an address that is not blocked cannot be admitted again', async () => {
  await expect(unblock(stack, '192.0.2.7')).rejects.toThrow('192.0.2.7/32')
})

test.each(['192.0.2', '192.0.2.7/33', '192.0.2.7/0', '2001:db8::/129', '192.0.2.7/24/1', 'example.com', ''])(
  'the command takes no %j',
  async (address) => {
    const program = createProgram()
    for (const command of [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)])
      command.configureOutput({ writeErr: () => {} })
    const args = ['addresses', 'block', address, '--yes', '--stack', 'commerce-prod']
    await expect(program.parseAsync(args, { from: 'user' })).rejects.toThrow(/address/)
  },
)
