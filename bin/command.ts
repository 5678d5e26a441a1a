import { parseArgs } from 'node:util'

/** The options of a command: `--name VALUE`, required or not; `--name` alone; or the first argument. */
export type Options = Readonly<Record<string, 'required' | 'optional' | 'flag' | 'argument'>>

export type Values<Of extends Options> = {
  [Name in keyof Of]: Of[Name] extends 'flag'
    ? boolean
    : Of[Name] extends 'optional'
      ? string | undefined
      : string
}

/**
 * Runs a command with its options. With `--help` it prints the usage instead. An error is printed as a message, with
 * the usage if it is about the options, and sets exit code 1.
 */
export async function command<const Of extends Options>(
  usage: string,
  options: Of,
  run: (values: Values<Of>) => Promise<void>,
): Promise<void> {
  answerHelp(usage)
  try {
    await run(parse(usage, options))
  } catch (thrown) {
    console.error((thrown as Error).message)
    process.exitCode = 1
  }
}

/** Prints the usage of a command and exits with code 0, if the command line contains --help. */
export function answerHelp(usage: string): void {
  if (!process.argv.includes('--help')) return
  console.log(usage)
  process.exit(0)
}

/** Prints a value as one line of JSON. */
export function printLine(value: unknown): void {
  console.log(JSON.stringify(value))
}

/** Returns a time of the command line. @throws Error that names the option, for anything but a time in UTC */
export function timeOf(option: string, text: string): Date {
  const time = new Date(text)
  if (text.endsWith('Z') && !Number.isNaN(time.getTime())) return time
  throw new Error(`--${option} takes a time in UTC, such as 2026-01-31T12:00:00Z`)
}

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const

function parse<Of extends Options>(usage: string, kinds: Of): Values<Of> {
  const named = Object.entries(kinds).filter(([, kind]) => kind !== 'argument')
  const argument = Object.keys(kinds).find((name) => kinds[name] === 'argument')
  const options = Object.fromEntries(named.map(([name, kind]) => [name, kind === 'flag' ? flag : text]))
  try {
    const args = joinNegativeNumbers(process.argv.slice(2))
    const { values, positionals } = parseArgs({ args, options, allowPositionals: argument !== undefined })
    const missing = named.find(([name, kind]) => kind === 'required' && !values[name])
    if (missing) throw new Error(`--${missing[0]} is required`)
    if (argument && positionals.length !== 1) throw new Error(`one ${argument} is required`)
    return { ...values, ...(argument && { [argument]: positionals[0] }) } as Values<Of>
  } catch (thrown) {
    throw new Error(`${(thrown as Error).message}\n${usage}`)
  }
}

/** Writes `--option -60` as `--option=-60`, because parseArgs reads the number as another option. */
function joinNegativeNumbers(args: readonly string[]): string[] {
  const isNumber = (text = '') => /^-\d+$/.test(text)
  return args.flatMap((arg, at) => {
    if (isNumber(arg)) return []
    return isNumber(args[at + 1]) ? [`${arg}=${args[at + 1]}`] : [arg]
  })
}
