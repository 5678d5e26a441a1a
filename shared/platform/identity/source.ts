import { isIPv6 } from 'node:net'
import type { HttpRequest } from '../base/http.ts'

/**
 * Returns the source by which throttles count a request: an IPv4 address, or the /64 network of an IPv6 address. One
 * subscriber usually owns at least a /64.
 */
export function sourceOf({ sourceAddress }: Pick<HttpRequest, 'sourceAddress'>): string {
  const [address = ''] = sourceAddress.split('%')
  if (!isIPv6(address) || /\./.test(address)) return sourceAddress
  // The URL parser normalizes the address and compresses the longest run of zeros.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill('0')
  return `${[...(first ?? []), ...zeros, ...(last ?? [])].slice(0, 4).join(':')}::/64`
}
