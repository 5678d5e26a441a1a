import { isIP } from 'node:net'
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { awsStack, type Define, yes } from '../../cli/options.ts'
import { confirm, printFields, printRows } from '../../cli/output.ts'

/** Defines the commands on the addresses that the web ACLs of a stack block. */
export function defineAddresses(define: Define): void {
  define(
    'addresses block',
    'Block a source address, or a range in CIDR notation, at the gateway and at the user pool. It takes effect within a minute, without a deployment. Callers get 403.',
    'addresses block 192.0.2.7 --yes --stack commerce-prod',
    'addresses block 2001:db8::/32 --yes --stack commerce-prod',
  )
    .argument('<address>', 'the address or the range', parseAddress)
    .addOption(yes)
    .addOption(awsStack)
    .action(async (address, { yes, stack }) => {
      const { block, blockingStack } = await import('./blocked-addresses.ts')
      await confirm(`Block all requests from ${address} to ${stack}?`, yes)
      printFields({ blocked: await block(blockingStack(stack), address) })
    })
  define(
    'addresses unblock',
    'Admit a blocked source address or range again.',
    'addresses unblock 192.0.2.7 --stack commerce-prod',
  )
    .argument('<address>', 'the address or the range, as the list shows it', parseAddress)
    .addOption(awsStack)
    .action(async (address, { stack }) => {
      const { blockingStack, unblock } = await import('./blocked-addresses.ts')
      printFields({ unblocked: await unblock(blockingStack(stack), address) })
    })
  define(
    'addresses list',
    'List the blocked source addresses and ranges.',
    'addresses list --stack commerce-prod',
  )
    .addOption(awsStack)
    .action(async ({ stack }) => {
      const { blockingStack, listBlocked } = await import('./blocked-addresses.ts')
      await printRows((await listBlocked(blockingStack(stack))).map((address) => ({ address })))
    })
}

/** @throws InvalidArgumentError for anything but an address or a range in CIDR notation */
function parseAddress(text: string): string {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  const longest = version === 6 ? 128 : 32
  const length = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
  // WAF takes no range of all addresses.
  if (version !== 0 && length >= 1 && length <= longest && more.length === 0) return text.toLowerCase()
  throw new InvalidArgumentError('It takes an address or a range, such as 192.0.2.7 or 2001:db8::/32.')
}
