/** The values of one period, by the ids of their metrics; undefined without data. */
export type Series = Readonly<Record<string, number | undefined>>

type Value = number | undefined

/** Returns the value of an expression of CloudWatch metric math, as far as alarms use it. */
export function resultOf(expression: string, series: Series): Value {
  const tokens = expression.match(/[A-Za-z_]\w*|\d+(?:\.\d+)?|>=|[-+*/(),[\]]/g) ?? []
  let at = 0
  const value = comparison()
  if (at < tokens.length) throw new Error(`${tokens[at]} is not expected in ${expression}`)
  return value

  function take(token: string): boolean {
    if (tokens[at] !== token) return false
    at += 1
    return true
  }

  function comparison(): Value {
    const left = sum()
    if (!take('>=')) return left
    return both(left, sum(), (one, other) => (one >= other ? 1 : 0))
  }

  function sum(): Value {
    let left = product()
    for (;;) {
      if (take('+')) left = both(left, product(), (one, other) => one + other)
      else if (take('-')) left = both(left, product(), (one, other) => one - other)
      else return left
    }
  }

  function product(): Value {
    let left = operand()
    for (;;) {
      if (take('*')) left = both(left, operand(), (one, other) => one * other)
      else if (take('/')) left = both(left, operand(), (one, other) => one / other)
      else return left
    }
  }

  function operand(): Value {
    const token = tokens[at] ?? ''
    at += 1
    if (/^\d/.test(token)) return Number(token)
    if (!take('(')) {
      if (!Object.hasOwn(series, token)) throw new Error(`${token} is unknown in ${expression}`)
      return series[token]
    }
    const args = list(')')
    return call(token, args)
  }

  function list(end: string): Value[] {
    const values: Value[] = []
    while (!take(end)) {
      values.push(...(take('[') ? list(']') : [comparison()]))
      take(',')
    }
    return values
  }
}

/** SUM ignores metrics without data; IF has none without data in its condition. */
function call(name: string, args: readonly Value[]): Value {
  const [first, second, third] = args
  const known = args.filter((one) => one !== undefined)
  switch (name) {
    case 'SUM':
      return known.length > 0 ? known.reduce((total, one) => total + one, 0) : undefined
    case 'FILL':
      return first ?? second
    case 'IF':
      return first === undefined ? undefined : first ? second : third
  }
  throw new Error(`${name} is not played`)
}

function both(one: Value, other: Value, result: (one: number, other: number) => number): Value {
  return one === undefined || other === undefined ? undefined : result(one, other)
}

/** Returns a remainder that is never negative. */
export function mod(value: number, by: number): number {
  return ((value % by) + by) % by
}
