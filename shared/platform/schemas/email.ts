import { domainToASCII } from 'node:url'
import * as v from 'valibot'
import type { ErrorCode } from '../errors/catalogue.ts'

/** In octets (RFC 5321 4.5.3.1). The limit of an address is two below that of a path, which has angle brackets. */
const longest = { local: 64, address: 254 }

/** A dot-atom (RFC 5322 3.2.3), also with letters, marks and digits beyond ASCII (RFC 6532). No quoted strings. */
const atom = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const localPart = new RegExp(`^${atom}(?:\\.${atom})*$`, 'u')

/** At least two labels of letters, digits and inner hyphens. Unlike in an IP address, the last is not a number. */
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`)

/**
 * Returns the canonical form of an e-mail address, in which the service compares, hashes, stores and uses it; undefined
 * if the text is not an address. All spellings of an address identify one person:
 * - surrounding white space is removed, and characters are composed (NFC, RFC 6532 3.1);
 * - the domain is in ASCII and lower case (RFC 5891), as in DNS;
 * - ASCII letters of the local part are in lower case. RFC 5321 2.4 leaves their case to the receiving host, but hosts
 *   ignore it, and so do Amazon Cognito and Auth0. Other letters keep their case: lower case could make different
 *   letters equal.
 * Messages go to this form, never to the typed text: if that normalizes to another person's address, the other person
 * receives them.
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

/** Returns the domain in ASCII, or ''. Invalid characters are rejected first: the conversion would remove them. */
function asciiDomain(domain: string): string {
  return domain.length <= longest.address && /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)
    ? domainToASCII(domain)
    : ''
}

/** An e-mail address in its canonical form (see `normaliseEmail`). @throws VALIDATION.email */
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
