import { type Failure, fail, failField } from '../base/failure.ts'
import { charactersOf } from '../formats/text.ts'

/** Far deeper than any body of the service; bounds every traversal of a parsed body. */
const deepest = 32
/** Numbers of up to this many characters without an exponent are exact: a double keeps any 15 digits. */
const exactLength = 15
/** Strings, punctuation and numbers. An unterminated string extends to the end of the text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\],:]|[\d-][\d.eE+-]*/gs

/**
 * Parses JSON. Rejects what JSON.parse would change silently: a repeated name in an object, and a number that a
 * double cannot represent exactly. Time and memory are proportional to the text, however it is nested.
 * @throws VALIDATION.body.json, VALIDATION.body.too_deep, VALIDATION.field.range
 */
export function parseStrictJson(text: string): unknown {
  // Checked first, because JSON.parse accepts any depth. Invalid JSON may pass here and fails there.
  checkTokens(text)
  try {
    return JSON.parse(text)
  } catch (cause) {
    const position = charactersOf(text.slice(0, errorIndex(text)))
    throw fail('VALIDATION.body.json', { cause, details: { position } })
  }
}

/** A token of JSON: a string, another scalar or punctuation. */
const strictToken =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in strings.
  /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null|[{}[\],:]/y
const whiteSpace = /[\t\n\r ]*/y

/** What may follow: a value, a value or ], a name, a name or }, a colon, or the rest of the object or array. */
type Expected = 'value' | 'item' | 'name' | 'member' | 'colon' | 'rest'

/** Returns the index of the first token that makes a text no JSON; its length if something is missing at the end. */
function errorIndex(text: string): number {
  const ends: string[] = []
  let expected: Expected | undefined = 'value'
  for (let index = 0; ; index = strictToken.lastIndex) {
    whiteSpace.lastIndex = index
    whiteSpace.exec(text)
    strictToken.lastIndex = whiteSpace.lastIndex
    const token = strictToken.exec(text)?.[0]
    expected = token === undefined ? undefined : expectedAfter(token, expected, ends)
    if (expected === undefined) return whiteSpace.lastIndex
  }
}

/** @param ends the brackets that close the open objects and arrays, outermost first */
function expectedAfter(token: string, expected: Expected, ends: string[]): Expected | undefined {
  if (['item', 'member', 'rest'].includes(expected) && token === ends.at(-1)) {
    ends.pop()
    return 'rest'
  }
  if (expected === 'rest') {
    if (token !== ',' || ends.length === 0) return undefined
    return ends.at(-1) === '}' ? 'name' : 'value'
  }
  if (expected === 'colon') return token === ':' ? 'value' : undefined
  if (expected === 'name' || expected === 'member') return token.startsWith('"') ? 'colon' : undefined
  if (token === '{') {
    ends.push('}')
    return 'member'
  }
  if (token === '[') {
    ends.push(']')
    return 'item'
  }
  return /^[}\],:]/.test(token) ? undefined : 'rest'
}

/** An open object or array. An array has no names. */
interface Open {
  names: Set<string> | undefined
  /** The name of its member, or the index of its element, that is read now. */
  at: string | number
}

function checkTokens(text: string): void {
  const open: Open[] = []
  // The names so far where the name of a member may follow; elsewhere undefined.
  let names: Set<string> | undefined
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') {
      if (open.length === deepest) throw fail('VALIDATION.body.too_deep', { details: { max: deepest } })
      names = token === '{' ? new Set() : undefined
      open.push({ names, at: names ? '' : 0 })
    } else if (token === '}' || token === ']') {
      open.pop()
      names = undefined
    } else if (token === ',') {
      const top = open.at(-1)
      names = top?.names
      if (typeof top?.at === 'number') top.at += 1
    } else if (token === ':') names = undefined
    else if (!token.startsWith('"')) {
      if (!isExact(token)) throw inexact(token, open)
    } else if (names) addName(token, names, open)
  }
}

/** @throws VALIDATION.body.json if the object already has the name, however it is escaped */
function addName(quoted: string, names: Set<string>, open: readonly Open[]): void {
  const name = quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1)
  const top = open.at(-1)
  if (top) top.at = name
  if (names.has(name))
    throw failField('VALIDATION.body.json', currentPath(open), { reason: 'repeated', max: 1, actual: 2 })
  names.add(name)
}

/** Returns the failure of a number that a double cannot hold. The body is JSON, but nobody could read it without a loss. */
function inexact(number: string, open: readonly Open[]): Failure {
  const nearest = Math.min(Math.max(Number(number), -Number.MAX_VALUE), Number.MAX_VALUE)
  return failField('VALIDATION.field.range', currentPath(open), { reason: 'inexact', actual: nearest })
}

/** Returns the path of what is read now, in the form of `invalidFields`. */
function currentPath(open: readonly Open[]): string {
  return open.length === 0 ? 'body' : open.map(({ at }) => at).join('.')
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    // The whole text is invalid then, which is reported with the position in it.
    return quoted
  }
}

/** Returns whether a number keeps its value when it is read as a double and written again. */
function isExact(source: string): boolean {
  if (source.length <= exactLength && !/e/i.test(source)) return true
  const value = Number(source)
  // JSON.parse rejects what is no number, with its position.
  if (Number.isNaN(value)) return true
  return Number.isFinite(value) && decimalOf(source) === decimalOf(String(value))
}

/** Normalizes a number without its sign: digits without outer zeros, and a power of ten. */
function decimalOf(source: string): string | undefined {
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? []
  if (whole === undefined) return undefined
  const digits = whole + fraction
  let from = 0
  let to = digits.length
  while (digits[from] === '0') from += 1
  while (to > from && digits[to - 1] === '0') to -= 1
  if (from === to) return '0'
  return `${digits.slice(from, to)}e${Number(exponent) - fraction.length + digits.length - to}`
}
