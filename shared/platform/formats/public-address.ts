import ipaddr from 'ipaddr.js'
import { failField } from '../base/failure.ts'

/** Cloud metadata services at addresses that look public: Azure's WireServer. */
const metadata = new Set(['168.63.129.16'])
/** The IPv6 range that is routed on the internet. All other IPv6 addresses have a local meaning. */
const routed = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns whether an address is public: not private, loopback, link-local, multicast, for cloud metadata or otherwise
 * reserved, and not an IPv6 form that a router translates to an IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || text.includes('%')) return false
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast' || metadata.has(address.toString())) return false
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(routed)
}

/** Names of this machine and of private networks: RFC 6761, RFC 6762, RFC 8375 and ICANN's `internal`. */
const localName = /^[^.]*$|(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/

/** The characters of the longest name (RFC 1035 2.3.4). A pattern on a longer one may take time quadratic in its length. */
const maxHostLength = 253

/** Parses a URL. @returns undefined for a text that is no URL, or whose host is longer than any name */
export function urlOf(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && url.hostname.length <= maxHostLength ? url : undefined
}

/** Returns whether the host of a URL is a name that is never public; names without a dot are not. */
function isLocalName(url: URL): boolean {
  return localName.test(url.hostname.replace(/\.+$/, ''))
}

/** Returns the address that a URL has instead of a host name, without brackets. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(host) ? host : undefined
}

/**
 * Parses the URL of a file that may be fetched. The URL standard reads a numeric host in any notation as an address:
 * decimal, octal or hexadecimal, with or without a final dot.
 * The address is checked before the scheme, so a private host is named as such whatever the scheme.
 * @throws VALIDATION.url.private_range for a local name or an address that is not public, VALIDATION.field.format
 */
export function fileUrl(text: string, field: string): URL {
  const url = urlOf(text)
  if (url && url.hostname !== '' && isPrivateHost(url)) throw privateRange(field)
  if (url?.protocol !== 'https:')
    throw failField('VALIDATION.field.format', field, {
      reason: 'https_url',
      regex: '^https://',
      actual: text.length,
    })
  if (url.username !== '' || url.password !== '') {
    throw failField('VALIDATION.field.format', field, { reason: 'credentials', actual: text.length })
  }
  return url
}

/** Returns whether a URL without credentials is https and does not name a private host. */
export function publicUrl(url: URL): boolean {
  return url.protocol === 'https:' && !isPrivateHost(url)
}

function isPrivateHost(url: URL): boolean {
  const address = literalAddress(url)
  return address === undefined ? isLocalName(url) : !isPublicAddress(address)
}

export function privateRange(field: string) {
  return failField('VALIDATION.url.private_range', field, { reason: 'private_range' })
}
