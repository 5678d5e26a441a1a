import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import * as v from 'valibot'
import { Email, normalizeEmail } from '#shared/platform/formats/text.ts'
import { timeRatio } from '#test/support/linear-time.ts'
import { runs } from '#test/support/runs.ts'
import { parseField } from '../codes/parse-field.ts'

const local64 = 'x'.repeat(64)
const domainOf = (length: number) => `${`${'d'.repeat(63)}.`.repeat(4)}`.slice(0, length - 4).concat('.com')

describe('an e-mail address', () => {
  test.each([
    ['if it is in normal form', 'jane@example.com', 'jane@example.com'],
    ['with white space around it', ' \t jane@example.com\u00a0\n', 'jane@example.com'],
    ['in capital letters', 'Jane.DOE@EXAMPLE.Com', 'jane.doe@example.com'],
    ['with a tag, which is kept', 'jane+shop@example.com', 'jane+shop@example.com'],
    ['with every character of an atom', "!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
    ['with a non-ASCII domain', 'a@MÜNCHEN.example', 'a@xn--mnchen-3ya.example'],
    ['with an ASCII domain', 'a@xn--mnchen-3ya.example', 'a@xn--mnchen-3ya.example'],
    ['with ß in the domain, which is kept', 'a@faß.de', 'a@xn--fa-hia.de'],
    ['with full-width letters in the domain', 'a@ｅｘａｍｐｌｅ.com', 'a@example.com'],
    ['with decomposed characters', 'jo\u0308rg@mu\u0308nchen.de', 'jörg@xn--mnchen-3ya.de'],
    ['with non-ASCII letters, which keep their case', 'JÖRG@example.com', 'jÖrg@example.com'],
    ['with a local part of the maximum length', `${local64}@example.com`, `${local64}@example.com`],
    ['of the maximum length', `${local64}@${domainOf(189)}`, `${local64}@${domainOf(189)}`],
    ['with a numeric first label', 'a@123.example', 'a@123.example'],
  ])('is normalized %s', (_, text, expected) => expect(normalizeEmail(text)).toBe(expected))

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
    ['with a lone surrogate', 'jane\ud800@example.com'],
    ['with an emoji', '😀@example.com'],
    ['with a dot at the start', '.jane@example.com'],
    ['with a dot at the end', 'jane.@example.com'],
    ['with two adjacent dots', 'ja..ne@example.com'],
    ['with a quoted local part', '"ja ne"@example.com'],
    ['with a name', 'Jane <jane@example.com>'],
    ['with a comment', 'jane(home)@example.com'],
    ['with a host without a domain', 'jane@localhost'],
    ['with an IP address', 'jane@192.0.2.1'],
    ['with a short IP address', 'jane@192.1'],
    ['with an IP address in hexadecimal', 'jane@0x7f.0x1'],
    ['with an address literal', 'jane@[192.0.2.1]'],
    ['with an empty label', 'jane@example..com'],
    ['with a trailing dot', 'jane@example.com.'],
    ['with a hyphen at the edge of a label', 'jane@-example.com'],
    ['with an underscore in the domain', 'jane@ex_ample.com'],
    ['with a percent sign in the domain', 'jane@ex%61mple.com'],
    ['with a soft hyphen in the domain', 'jane@ex\u00adample.com'],
    ...['\u034f', '\u115f', '\u17b4', '\u180b', '\u3164', '\ufe0f', '\uffa0', '\u{e0100}'].flatMap(
      (invisible): [string, string][] => [
        [`with ${JSON.stringify(invisible)} in the domain`, `jane@ex${invisible}ample.com`],
        [`with ${JSON.stringify(invisible)} in the local part`, `ja${invisible}ne@example.com`],
      ],
    ),
    ['with a slash in the domain', 'jane@example.com/x'],
    ['with a port', 'jane@example.com:25'],
    ['with an overlong local part', `${local64}x@example.com`],
    ['with a local part of too many octets', `${'ö'.repeat(33)}@example.com`],
    ['with an overlong label', `jane@${'d'.repeat(64)}.com`],
    ['if it is too long', `${local64}@${domainOf(190)}`],
  ])('is invalid %s', (_, text) => expect(normalizeEmail(text)).toBeUndefined())

  const letters = fc.constantFrom(...'abcXYZ019.+-_öÖß\u0308İK ')
  const anything = fc
    .tuple(fc.array(letters, { maxLength: 12 }), fc.array(letters, { maxLength: 12 }))
    .map(([local, domain]) => `${local.join('')}@${domain.join('')}.example`)

  test('is idempotent under normalization, with ASCII letters after the @ in lower case', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const once = normalizeEmail(text)
        if (once === undefined) return
        expect(normalizeEmail(once)).toBe(once)
        expect(once).toMatch(/^[^A-Z\s@]+@[a-z0-9.-]+$/)
        expect(once.normalize('NFC')).toBe(once)
      }),
      { ...runs(2000) },
    )
  })

  test('has one normalized form for any case of its ASCII letters', () => {
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

  test.each(['a', 'a.', 'a-', 'ö'])('of many %s is rejected in linear time', (part) => {
    const textOf = (length: number) => `${part.repeat(length / 2)}@${part.repeat(length / 2)}`
    expect(normalizeEmail(textOf(400_000))).toBeUndefined()
    expect(timeRatio(normalizeEmail, textOf, 400_000)).toBeLessThan(4)
  })
})

test.each([['if it is arbitrary text'], [7], [null], [['jane@example.com']]])(
  'with %j in a body is rejected without being quoted',
  (value) => {
    const parsed = parseField(v.strictObject({ email: Email }), 'email', value)
    expect(parsed).toMatchObject({ code: 'VALIDATION.email' })
    expect(JSON.stringify(parsed)).not.toMatch(/not one|jane/)
  },
)
