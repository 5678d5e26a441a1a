import { type Failure, fail, failField } from '../base/failure.ts'

/** Far deeper than any body of the service; bounds every traversal of a parsed body. */
const deepest = 32
/** Numbers of up to this many characters without an exponent are exact: a double keeps any 15 digits. */
const exactLength = 15
/** Strings, punctuation and numbers. An unterminated string extends to the end of the text. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\],:]|[\d-][\d.eE+-]*/gs

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

function checkTokens(text: string): void {
  // The open objects and arrays, each with the name of the member whose value it is. Arrays have no names.
  const open: { names: Set<string> | undefined; name: string }[] = []
  let name = 'body'
  // The names so far where the name of a member may follow; elsewhere undefined.
  let names: Set<string> | undefined
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') {
      if (open.length === deepest) throw fail('VALIDATION.body.too_deep', { details: { max: deepest } })
      names = token === '{' ? new Set() : undefined
      open.push({ names, name })
    } else if (token === '}' || token === ']') {
      name = open.pop()?.name ?? name
      names = undefined
    } else if (token === ',') names = open.at(-1)?.names
    else if (token === ':') names = undefined
    else if (!token.startsWith('"')) {
      if (!isExact(token)) throw problem(name, 'inexact')
    } else if (names) name = newName(token, names)
  }
}

/** @throws VALIDATION.body.json if the object already has the name, however it is escaped */
function newName(quoted: string, names: Set<string>): string {
  const name = quoted.includes('\\') ? String(parse(quoted)) : quoted.slice(1, -1)
  if (names.has(name)) throw problem(name, 'repeated')
  names.add(name)
  return name
}

function problem(name: string, reason: string): Failure {
  return failField('VALIDATION.body.json', name, { reason })
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
