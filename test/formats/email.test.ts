import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import * as v from 'valibot'
import { Email, normalizeEmail } from '#shared/platform/formats/text.ts'
import { parseField } from '../codes/parse-field.ts'

const local64 = 'x'.repeat(64)
const domainOf = (length: number) => `${`${'d'.repeat(63)}.`.repeat(4)}`.slice(0, length - 4).concat('.com')

describe('an e-mail address', () => {
  test.each([
    ['as it should be', 'jane@example.com', 'jane@example.com'],
    ['with white space around it', ' \t jane@example.com\u00a0\n', 'jane@example.com'],
    ['in capital letters', 'Jane.DOE@EXAMPLE.Com', 'jane.doe@example.com'],
    ['with a tag, which belongs to it', 'jane+shop@example.com', 'jane+shop@example.com'],
    ['with every character of an atom', "!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
    ['of a domain beyond ASCII', 'a@MÜNCHEN.example', 'a@xn--mnchen-3ya.example'],
    ['of a domain that is in ASCII already', 'a@xn--mnchen-3ya.example', 'a@xn--mnchen-3ya.example'],
    ['of a domain with ß, which is a letter of its own', 'a@faß.de', 'a@xn--fa-hia.de'],
    ['in full-width letters of the domain', 'a@ｅｘａｍｐｌｅ.com', 'a@example.com'],
    ['with decomposed characters', 'jo\u0308rg@mu\u0308nchen.de', 'jörg@xn--mnchen-3ya.de'],
    ['with letters beyond ASCII, which keep their case', 'JÖRG@example.com', 'jÖrg@example.com'],
    ['with as long a local part as there may be', `${local64}@example.com`, `${local64}@example.com`],
    ['as long as there may be', `${local64}@${domainOf(189)}`, `${local64}@${domainOf(189)}`],
    ['with digits for its first label', 'a@123.example', 'a@123.example'],
  ])('%s', (_, text, expected) => expect(normalizeEmail(text)).toBe(expected))

  test.each([
    ['nothing', ''],
    ['without an @', 'example.com'],
    ['without a local part', '@example.com'],
    ['without a domain', 'jane@'],
    ['with two @', 'a@b@example.com'],
    ['with a space', 'ja ne@example.com'],
    ['with a line end', 'jane\r\nBcc: all@example.com'],
    ['with an invisible character', 'jane\u200b@example.com'],
    ['with a direction override', 'jane\u202e@example.com'],
    ['with a control character', 'jane\u0000@example.com'],
    ['with half a character', 'jane\ud800@example.com'],
    ['with a picture', '😀@example.com'],
    ['with a dot at the start', '.jane@example.com'],
    ['with a dot at the end', 'jane.@example.com'],
    ['with two dots together', 'ja..ne@example.com'],
    ['with a quoted local part', '"ja ne"@example.com'],
    ['with a name', 'Jane <jane@example.com>'],
    ['with a comment', 'jane(home)@example.com'],
    ['of a host without a domain', 'jane@localhost'],
    ['of an IP address', 'jane@192.0.2.1'],
    ['of a short IP address', 'jane@192.1'],
    ['of an IP address in hexadecimal', 'jane@0x7f.0x1'],
    ['of an address literal', 'jane@[192.0.2.1]'],
    ['of a domain with an empty label', 'jane@example..com'],
    ['of a domain with a dot at its end', 'jane@example.com.'],
    ['of a domain with a hyphen at an edge', 'jane@-example.com'],
    ['of a domain with an underscore', 'jane@ex_ample.com'],
    ['of a domain with a percent sign', 'jane@ex%61mple.com'],
    ['of a domain with a soft hyphen', 'jane@ex\u00adample.com'],
    ['of a domain with a slash', 'jane@example.com/x'],
    ['of a domain with a port', 'jane@example.com:25'],
    ['with too long a local part', `${local64}x@example.com`],
    ['whose local part is too long in octets', `${'ö'.repeat(33)}@example.com`],
    ['with too long a label', `jane@${'d'.repeat(64)}.com`],
    ['that is too long', `${local64}@${domainOf(190)}`],
  ])('is not one %s', (_, text) => expect(normalizeEmail(text)).toBeUndefined())

  const letters = fc.constantFrom(...'abcXYZ019.+-_öÖß\u0308İK ')
  const anything = fc
    .tuple(fc.array(letters, { maxLength: 12 }), fc.array(letters, { maxLength: 12 }))
    .map(([local, domain]) => `${local.join('')}@${domain.join('')}.example`)

  test('in its one form stays as it is, and is in ASCII lower case after the @', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const once = normalizeEmail(text)
        if (once === undefined) return
        expect(normalizeEmail(once)).toBe(once)
        expect(once).toMatch(/^[^A-Z\s@]+@[a-z0-9.-]+$/)
        expect(once.normalize('NFC')).toBe(once)
      }),
      { numRuns: 2000 },
    )
  })

  test('has one form however its ASCII letters are written', () => {
    const address = fc.stringMatching(
      /^[A-Za-z0-9]{1,10}([.+-][A-Za-z0-9]{1,10})?@[A-Za-z][A-Za-z0-9]{0,9}\.com$/,
    )
    fc.assert(
      fc.property(address, (text) => {
        expect(normalizeEmail(text)).toBe(text.toLowerCase())
        expect(normalizeEmail(` ${text.toUpperCase()} `)).toBe(text.toLowerCase())
      }),
    )
  })

  test('takes no longer for a long text', () => {
    const from = performance.now()
    for (const part of ['a', 'a.', 'a-', 'ö']) {
      expect(normalizeEmail(`${part.repeat(200_000)}@${part.repeat(200_000)}`)).toBeUndefined()
    }
    expect(performance.now() - from).toBeLessThan(500)
  })
})

test.each([['not one'], [7], [null], [['jane@example.com']]])(
  'the field of a body that holds %j is refused without being quoted',
  (value) => {
    const parsed = parseField(v.strictObject({ email: Email }), 'email', value)
    expect(parsed).toMatchObject({ code: 'VALIDATION.email' })
    expect(JSON.stringify(parsed)).not.toMatch(/not one|jane/)
  },
)
