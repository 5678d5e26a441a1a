import { domainToASCII } from 'node:url'
import * as v from 'valibot'
import type { ErrorCode } from '../errors/catalogue.ts'

/** In octets (RFC 5321 4.5.3.1); a whole address is two less than a path, which stands in angle brackets. */
const longest = { local: 64, address: 254 }

/** A dot-atom (RFC 5322 3.2.3), and beyond ASCII letters, their marks and digits (RFC 6532). No quoted string. */
const atom = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const localPart = new RegExp(`^${atom}(?:\\.${atom})*$`, 'u')

/** Two labels at least, of letters, digits and inner hyphens; the last is no number, as that of an IP address is. */
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`)

/**
 * The one form of an e-mail address in which the service compares, hashes, stores and uses it; undefined when the text
 * is none. Whatever way somebody writes their address, they are one person:
 * - white space around it is taken away, and characters are composed (NFC, RFC 6532 3.1);
 * - the domain is in ASCII and lower case (RFC 5891), as DNS knows it;
 * - ASCII letters of the local part are in lower case. RFC 5321 2.4 leaves their case to the receiving host, but hosts
 *   do not tell them apart, and neither do Amazon Cognito and Auth0. Other letters keep their case, as lower case would
 *   let different letters become the same.
 * A message goes to this form, never to what was typed: whoever writes an address that becomes another's reaches the
 * other.
 */
export function normaliseEmail(text: string): string | undefined {
  const address = text.trim().normalize('NFC')
  const at = address.lastIndexOf('@')
  const local = address.slice(0, Math.max(at, 0)).replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const domain = asciiDomain(address.slice(at + 1))
  const email = `${local}@${domain}`
  const fits = Buffer.byteLength(local) <= longest.local && Buffer.byteLength(email) <= longest.address
  return fits && localPart.test(local) && domainName.test(domain) ? email : undefined
}

/** Empty when it is no domain. What cannot stand in one is refused before, as the conversion would take it away. */
function asciiDomain(domain: string): string {
  return domain.length <= longest.address && /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)
    ? domainToASCII(domain)
    : ''
}

/** An e-mail address in its one form (see `normaliseEmail`). @throws VALIDATION.email */
export const Email = v.pipe(
  v.string('VALIDATION.email' satisfies ErrorCode),
  v.metadata({ format: 'email' }),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const email = normaliseEmail(dataset.value)
    if (email !== undefined) return email
    addIssue({ message: 'VALIDATION.email' satisfies ErrorCode, expected: 'email' })
    return NEVER
  }),
)
