import { execFile } from 'node:child_process'
import { StartFailure } from './process.ts'

/** The oldest Node whose npm installs the packages. Everything else runs on the Node that npm ci installs. */
const NODE = { major: 20, minor: 17 }
const PYTHON_NAMES = ['python3', ...[14, 13, 12, 11, 10].map((minor) => `python3.${minor}`), 'python']

/** Prints the version, then whether a virtual environment with pip can be created (a separate package on Debian). */
const PYTHON_PROBE = [
  'import sys, importlib.util as u',
  'print(*sys.version_info[:2], bool(u.find_spec("venv") and u.find_spec("ensurepip")))',
].join('\n')

/** A program that this machine lacks: one sentence, and the command that installs it on each system. */
export interface MissingProgram {
  problem: string
  install: Readonly<Record<'Debian' | 'Ubuntu' | 'macOS', string>>
}

/**
 * Returns the Python that creates virtual environments.
 * @param others programs that the caller also needs; undefined for one that is present
 * @throws StartFailure that lists all missing programs, with the commands that install them
 */
export async function checkPrerequisites(
  others: readonly (MissingProgram | undefined)[] = [],
): Promise<{ python: string }> {
  const python = await findPython()
  const missing = [missingNode(), python.missing, ...others].filter((one) => one !== undefined)
  if (missing.length > 0) throw new StartFailure(describeMissing(missing))
  return { python: python.command }
}

/** Returns a sentence for each missing program, then the commands for each system. */
function describeMissing(missing: readonly MissingProgram[]): string {
  const commands = (['Debian', 'Ubuntu', 'macOS'] as const).flatMap((system) => [
    `${system}:`,
    ...missing.map(({ install }) => `  ${install[system]}`),
  ])
  return [...missing.map(({ problem }) => problem), '', ...commands].join('\n')
}

/** Checks the Node that runs npm. This process itself may run on the pinned Node of node_modules. */
function missingNode(): MissingProgram | undefined {
  const version =
    /\bnode\/v([\d.]+)/.exec(process.env.npm_config_user_agent ?? '')?.[1] ?? process.versions.node
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > NODE.major || (major === NODE.major && minor >= NODE.minor)) return undefined
  return {
    problem: `Node ${NODE.major}.${NODE.minor} or newer is required, but npm runs on ${version}.`,
    install: { Debian: 'sudo npx n lts', Ubuntu: 'sudo npx n lts', macOS: 'brew install node' },
  }
}

async function findPython(): Promise<{ command: string; missing?: MissingProgram }> {
  const required = 'Python 3.10 or newer is required'
  let problem = `${required}, but no Python was found.`
  for (const command of PYTHON_NAMES) {
    const [major, minor, venv] = (await output(command, ['-c', PYTHON_PROBE])).trim().split(' ')
    if (!major) continue
    if (major !== '3' || Number(minor) < 10) problem = `${required}, but ${command} is ${major}.${minor}.`
    else if (venv !== 'True') problem = `Python's module venv is required, but ${command} lacks it.`
    else return { command }
  }
  const apt = 'sudo apt-get install -y python3 python3-venv'
  return {
    command: '',
    missing: { problem, install: { Debian: apt, Ubuntu: apt, macOS: 'brew install python' } },
  }
}

/** Returns what a command prints on both streams, or nothing if it fails. */
export function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 60_000 }, (error, stdout, stderr) =>
      resolve(error ? '' : stdout + stderr),
    )
  })
}
