import { commandName, createProgram, leavesOf } from '#bin/cli/program.ts'

const commands = new Map(leavesOf(createProgram()).map((command) => [commandName(command), command]))

/** A use of the command line in a text: `npx commerce orders erase ID --tenant acme`. */
interface CommandLine {
  name: string
  flags: string[]
  /** Whether it has more than the name of its command, which a text may only mention. */
  isWhole: boolean
}

/** Returns the uses of the command line in a page or a help text. A group without a command counts as its commands. */
export function commandLinesIn(text: string): CommandLine[] {
  // The parenthesis of a substitution is not the end of a command.
  const values = text.replaceAll(/\$\((?![^()]*npx commerce)[^()]*\)/g, 'VALUE')
  const joined = values.replaceAll('\\\n', ' ').replaceAll('`', '\n')
  return [...joined.matchAll(/npx commerce ([^\n;|&<>#)]+)/g)].map(([, line = '']) => {
    const [first = '', second = ''] = line
      .replace(/[.,:](?= |$)/g, '')
      .trim()
      .split(/ +/)
    const name = commands.has(first) || second === '' ? first : `${first} ${second}`
    const flags = [...line.matchAll(/(?<= )--([\w-]+)/g)].map(([, flag = '']) => flag)
    return { name, flags, isWhole: line.trim().split(/ +/).length > name.split(' ').length }
  })
}

/** Returns what the program does not know of a use: the command, or its options. */
export function unknownParts({ name, flags }: CommandLine): string[] {
  const command = commands.get(name)
  if (command) {
    const known = command.options.map(({ long }) => long)
    return flags.filter((flag) => !known.includes(`--${flag}`)).map((flag) => `${name} --${flag}`)
  }
  const isGroup = [...commands.keys()].some((one) => one.startsWith(`${name} `))
  return isGroup ? [] : [name]
}

/** The flags with which a command asks, if it does not always. */
const asksWith: Readonly<Record<string, readonly string[]>> = {
  // It asks with --adopt, and shows what it found: a person decides.
  'refunds reconcile': [],
  'subscribers resume': ['skip'],
  'subscribers rotate-secret': ['overlap'],
  'webhook secret': ['generate', 'set-stdin', 'drop-old'],
}

/**
 * Returns the options that a use on AWS lacks: without `--stack` it acts on the local run, and without `--yes` it waits for an
 * answer, or takes the next pasted line for one.
 */
export function missingOptions({ name, flags, isWhole }: CommandLine): string[] {
  const known = commands.get(name)?.options.map(({ long }) => long) ?? []
  const asks = asksWith[name]?.some((flag) => flags.includes(flag)) ?? !flags.includes('dry-run')
  const needed = [...(isWhole ? ['--stack'] : []), ...(isWhole && asks ? ['--yes'] : [])]
  return needed
    .filter((option) => known.includes(option) && !flags.includes(option.slice(2)))
    .map((option) => `${name} ${option}`)
}
