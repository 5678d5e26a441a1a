import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The commands of one code block of a page, as they stand there. */
export type CommandBlock = readonly string[]

/**
 * Returns the shell blocks below a heading of a page, up to the next heading of its level.
 * @throws Error if there is no such heading or no block below it
 */
export async function procedureIn(page: string, heading: string): Promise<CommandBlock[]> {
  const sections = `\n${await readFile(join(root, page), 'utf8')}`.split(/\n(?=## )/)
  const section = sections.find((one) => one.startsWith(`## ${heading}\n`))
  const blocks = [...(section ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) =>
    commandsIn(text),
  )
  if (blocks.length === 0) throw new Error(`${page} has no commands below '${heading}'`)
  return blocks
}

/** Returns the headings of a page with commands below them. */
export async function proceduresOf(page: string): Promise<string[]> {
  const sections = `\n${await readFile(join(root, page), 'utf8')}`.split(/\n(?=## )/)
  return sections.flatMap((section) => {
    const heading = /^## (.+)$/m.exec(section)?.[1]
    return heading !== undefined && /^```sh$/m.test(section) ? [heading] : []
  })
}

/** Joins the lines of a command that ends with a backslash or continues inside quotes. */
function commandsIn(block: string): string[] {
  const commands: string[] = []
  let open = ''
  for (const line of block.trimEnd().split('\n')) {
    open += line
    const quotes = open.replace(/'[^']*'/g, '').match(/["']/g)?.length ?? 0
    if (open.endsWith('\\') || quotes % 2 === 1) open += '\n'
    else {
      commands.push(open)
      open = ''
    }
  }
  if (open !== '') throw new Error(`the command does not end: ${open}`)
  return commands
}

/** A command that cannot run on the local AWS, and the test that stands for it. */
export interface StandIn {
  /** The start of the command. */
  command: string
  /** Why it cannot run. */
  because: string
  /** The file and the title of a test of the templates or of the command's calls. */
  test: { file: string; title: string }
}

/** Returns what is wrong with stand-ins: a test that does not exist, or a command that no block has. */
export async function problemsOf(
  standIns: readonly StandIn[],
  blocks: readonly CommandBlock[],
): Promise<string[]> {
  const commands = blocks.flat()
  const problems = standIns.map(async ({ command, test: { file, title } }) => {
    const text = await readFile(join(root, file), 'utf8').catch(() => '')
    return [
      ...(text.includes(`'${title}'`) ? [] : [`${file} has no test '${title}'`]),
      ...(commands.some((one) => one.startsWith(command)) ? [] : [`no block has the command ${command}`]),
    ]
  })
  return (await Promise.all(problems)).flat()
}

interface Place {
  env: NodeJS.ProcessEnv
  /** The values of the variables that a procedure assigns, instead of those on the page. */
  values: Record<string, string>
  /** Options that commands need at this place only, by the start of the command. */
  options?: Readonly<Record<string, string>>
  /** The texts of this place, by the names and words in capitals that commands have instead. */
  placeholders?: Readonly<Record<string, string>>
}

/** Plays the blocks of a procedure one after the other in bash. Variables last from block to block, as in one shell. */
export function player({ env, values, options = {}, placeholders = {} }: Place) {
  const assigned: string[] = []
  return {
    /** Runs one block. @returns what it prints. @throws Error with the output if a command fails */
    async play(block: CommandBlock): Promise<string> {
      const lines = block.map((command) => {
        const name = /^([A-Z_]+)=/.exec(command)?.[1]
        if (name === undefined) return `${withTexts(command)}${optionsOf(command)}`
        const value = values[name]
        if (value === undefined) throw new Error(`there is no value for ${name}`)
        assigned.push(`${name}='${value}'`)
        return ''
      })
      return bash([...assigned, ...lines].join('\n'), env)
    },
  }

  function withTexts(command: string): string {
    return Object.entries(placeholders).reduce((text, [name, its]) => text.replaceAll(name, its), command)
  }

  function optionsOf(command: string): string {
    const [, more] = Object.entries(options).find(([start]) => command.startsWith(start)) ?? []
    return more === undefined ? '' : ` ${more}`
  }
}

function bash(script: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: root, env, maxBuffer: 1e8 }
    execFile('bash', ['--norc', '-euo', 'pipefail', '-c', script], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${script}\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
  })
}
