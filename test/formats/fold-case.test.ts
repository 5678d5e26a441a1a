import { expect, test } from '@jest/globals'
import { foldCase } from '#shared/platform/formats/text.ts'

/** From CaseFolding.txt of Unicode: status C and F. */
test.each([
  ['Ab-9', 'aB-9'],
  ['ÖL', 'öl'],
  ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς'],
  ['ΟΔΥΣΣΕΥΣ', 'οδυσσευσ'],
  ['Straße', 'STRASSE'],
  ['STRAẞE', 'straße'],
  ['İzmir', 'i\u0307zmir'],
  ['\u212a', 'k'],
  ['\u212b', 'å'],
  ['ſ', 's'],
  ['ﬃ', 'FFI'],
  ['\u00b5', 'μ'],
  ['ᾳ', 'ΑΙ'],
  ['ŉ', 'ʼN'],
  ['ǆ', 'ǅ'],
  ['\u0390', '\u1fd3'],
  ['Ա', 'ա'],
  ['և', 'ԵՒ'],
  ['Ꭰ', 'ꭰ'],
  ['𐐀', '𐐨'],
  ['E\u0301', 'é'],
  ['ı', 'I'],
])('%j and %j are equal in their folded case', (one, other) => {
  expect(foldCase(one)).toBe(foldCase(other))
})

test.each([
  ['e', 'é'],
  ['ss', 's'],
  ['İ', 'I'],
])('%j and %j differ in their folded case', (one, other) => {
  expect(foldCase(one)).not.toBe(foldCase(other))
})

test.each([
  ['ΟΔΥΣ', 'ΟΔΥΣΣΕΥΣ'],
  ['οδυς', 'Οδυσσευς'],
  ['SS', 'Straße'],
])('%j is found in %j', (search, text) => {
  expect(foldCase(text)).toContain(foldCase(search))
})
