import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { freePort } from '#test/support/free-port.ts'

const root = join(import.meta.dirname, '../..')
/** What a fresh clone does not have. */
const absent = new Set(['node_modules', '.git', '.local', '.build', 'cdk.out'])

export interface Ran {
  code: number
  stdout: string
  /** Both streams. */
  output: string
}

/** A copy of the project as somebody has it who has just cloned and installed it. */
export interface Checkout {
  folder: string
  /** What a shell says to these lines, which stops at the first that fails. */
  shell(lines: string, env?: NodeJS.ProcessEnv): Promise<Ran>
  file(name: string): string
  write(name: string, text: string): void
  remove(): Promise<void>
}

export function checkout(): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'commerce-checkout-'))
  cpSync(root, folder, { recursive: true, filter: (path) => !absent.has(basename(path)) })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const made: Checkout = {
    folder,
    shell: (lines, env = {}) => shell(folder, lines, env),
    file: (name) => readFileSync(join(folder, name), 'utf8'),
    write: (name, text) => writeFileSync(join(folder, name), text),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
  return made
}

/**
 * Changes the shipped profile of a checkout: its ports may be taken by a service that runs already, and a busy machine
 * needs longer to start a function than a request may last.
 */
export async function changeProfile({ file, write }: Checkout): Promise<void> {
  const profile = 'shared/settings/profiles/local.json'
  const values = JSON.parse(file(profile))
  values['cors.allowedOrigins'] = [`http://localhost:${await freePort()}`]
  values['requests.timeoutHeader'] = { ...values['requests.timeoutHeader'], maxMilliseconds: 26_000 }
  values['refunds.provider'].endpoint = `http://127.0.0.1:${await freePort()}`
  write(profile, JSON.stringify(values))
}

function shell(cwd: string, lines: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  return new Promise((resolve) => {
    // npx links the program of the checkout in the cache of npm.
    const cache = { npm_config_cache: join(cwd, '.npm') }
    const options = { cwd, env: { ...process.env, ...cache, ...env }, maxBuffer: 2 ** 26 }
    execFile('bash', ['-e', '-c', lines], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, output: stdout + stderr })
    })
  })
}

/** The blocks of code in a section of a Markdown page, in their order, also those in a list. */
export function blocksOf(page: string, heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`there is no section ${heading}`)
  return [...section.matchAll(/^( *)```\w*\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', code = '']) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}
