import { createProgram, leavesOf, nameOf } from '#bin/cli/program.ts'

const commands = new Map(leavesOf(createProgram()).map((command) => [nameOf(command), command]))

/** A use of the command line in a text: `npx commerce orders erase ID --tenant acme`. */
interface CommandLine {
  name: string
  flags: string[]
}

/** Returns the uses of the command line in a page or a help text. A group without a command counts as its commands. */
export function commandLinesIn(text: string): CommandLine[] {
  const joined = text.replaceAll('\\\n', ' ').replaceAll('`', '\n')
  return [...joined.matchAll(/npx commerce ([^\n;|&<>#)]+)/g)].map(([, line = '']) => {
    const [first = '', second = ''] = line
      .replace(/[.,:](?= |$)/g, '')
      .trim()
      .split(/ +/)
    const name = commands.has(first) || second === '' ? first : `${first} ${second}`
    return { name, flags: [...line.matchAll(/(?<= )--([\w-]+)/g)].map(([, flag = '']) => flag) }
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
