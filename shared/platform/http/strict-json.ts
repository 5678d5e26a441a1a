import { type Failure, fail, failField } from '../errors/failure.ts'

/** Far deeper than any body of the service; bounds every traversal of a parsed body. */
const deepest = 32
/** Numbers of up to this many characters without an exponent are exact: a double keeps any 15 digits. */
const exactLength = 15

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Parses JSON. Rejects what JSON.parse would change silently: a repeated name in an object, and a number that a
 * double cannot represent exactly. Time and memory are proportional to the text, however it is nested.
 * @throws VALIDATION.body.json, VALIDATION.body.too_deep
 */
export function parseStrictJson(text: string): unknown {
  // Checked first, because JSON.parse accepts any depth. Invalid JSON may pass here and fails there.
  checkTokens(text)
  return parse(text)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw fail('VALIDATION.body.json', { cause })
  }
}

/** An open object or array, and the member name whose value it is. */
interface Open {
  names: Set<string> | undefined
  name: string
}

function checkTokens(text: string): void {
  const open: Open[] = []
  let name = 'body'
  let beforeName = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === quote) {
      const end = endOfString(text, at)
      if (beforeName) name = newName(text.slice(at, end + 1), open.at(-1)?.names)
      at = end
    } else if (char === openBrace || char === openBracket) {
      if (open.length === deepest) throw fail('VALIDATION.body.too_deep', { details: { max: deepest } })
      open.push({ names: char === openBrace ? new Set() : undefined, name })
      beforeName = char === openBrace
    } else if (char === closeBrace || char === closeBracket) {
      name = open.pop()?.name ?? name
      beforeName = false
    } else if (char === comma) beforeName = open.at(-1)?.names !== undefined
    else if (char === colon) beforeName = false
    else if (char === minus || isDigit(char)) {
      const number = numberAt(text, at)
      if (!isExact(number)) throw problem(name, 'inexact')
      at += number.length - 1
    }
  }
}

/** Returns the index of the closing quote. */
function endOfString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1
  return at
}

/** @throws VALIDATION.body.json if the object already has the name, however it is escaped */
function newName(quoted: string, names: Set<string> | undefined): string {
  const name = quoted.includes('\\') ? String(parse(quoted)) : quoted.slice(1, -1)
  if (names?.has(name)) throw problem(name, 'repeated')
  names?.add(name)
  return name
}

function problem(name: string, reason: string): Failure {
  return failField('VALIDATION.body.json', name, { reason })
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39
}

const numberCharacters = /[\d.eE+-]+/y

function numberAt(text: string, from: number): string {
  numberCharacters.lastIndex = from
  return numberCharacters.exec(text)?.[0] ?? ''
}

/** Returns whether a number keeps its value when it is read as a double and written again. */
function isExact(source: string): boolean {
  if (source.length <= exactLength && !/e/i.test(source)) return true
  const value = Number(source)
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
