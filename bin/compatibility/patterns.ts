/** A character class and its repetition: `[A-Z]{1,16}`. */
interface Run {
  characters: RegExp
  least: number
  most: number
}

/**
 * Returns whether every text that matches `inner` matches `outer`. This is decided only for sequences of character
 * classes; any other two patterns must be equal.
 */
export function patternIncludes(outer: string, inner: string): boolean {
  if (outer === inner) return true
  const [wide, narrow] = [runsOf(outer), runsOf(inner)]
  if (!wide || !narrow || wide.length !== narrow.length) return false
  return wide.every((run, index) => {
    const other = narrow[index] as Run
    return run.least <= other.least && run.most >= other.most && includes(run.characters, other.characters)
  })
}

const run = String.raw`\[((?:\\.|[^\]\\])+)\](?:\{(\d+)(?:,(\d+))?\})?`

/** Returns the character classes of a pattern, or undefined if it has anything else. */
function runsOf(pattern: string): Run[] | undefined {
  if (!new RegExp(String.raw`^\^(?:${run})+\$$`).test(pattern)) return undefined
  return Array.from(pattern.matchAll(new RegExp(run, 'g')), ([, members, least = '1', most = least]) => ({
    characters: new RegExp(`^[${members}]$`),
    least: Number(least),
    most: Number(most),
  }))
}

function includes(outer: RegExp, inner: RegExp): boolean {
  for (let unit = 0; unit < 0x10000; unit += 1) {
    const character = String.fromCharCode(unit)
    if (inner.test(character) && !outer.test(character)) return false
  }
  return true
}
