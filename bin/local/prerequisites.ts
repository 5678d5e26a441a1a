import { execFile } from 'node:child_process'
import { StartFailure } from './process.ts'

const NODE_MAJOR = 20
const PYTHON_NAMES = ['python3', ...[14, 13, 12, 11, 10].map((minor) => `python3.${minor}`), 'python']

/** Prints the version, then whether a virtual environment with pip can be created (a separate package on Debian). */
const PYTHON_PROBE = [
  'import sys, importlib.util as u',
  'print(*sys.version_info[:2], bool(u.find_spec("venv") and u.find_spec("ensurepip")))',
].join('\n')

/**
 * Returns the Python that creates the virtual environment of the local AWS.
 * @throws StartFailure with one sentence for each missing prerequisite
 */
export async function checkPrerequisites(): Promise<{ python: string }> {
  const python = await findPython()
  const problems = [nodeProblem(), python.problem].filter((problem) => problem !== undefined)
  if (problems.length > 0) throw new StartFailure(problems.join('\n'))
  return { python: python.command }
}

/** Checks the Node that runs npm. This process itself may run on the pinned Node of node_modules. */
function nodeProblem(): string | undefined {
  const version =
    /\bnode\/v([\d.]+)/.exec(process.env.npm_config_user_agent ?? '')?.[1] ?? process.versions.node
  if (Number.parseInt(version, 10) >= NODE_MAJOR) return undefined
  return `Node ${NODE_MAJOR} or newer is required, but npm runs on ${version}: install it from https://nodejs.org.`
}

async function findPython(): Promise<{ command: string; problem?: string }> {
  const required = 'The local AWS requires Python 3.10 or newer'
  let problem = `${required}, but no Python was found: install it from https://www.python.org or your package manager.`
  for (const command of PYTHON_NAMES) {
    const [major, minor, venv] = (await output(command, ['-c', PYTHON_PROBE])).trim().split(' ')
    if (!major) continue
    if (major !== '3' || Number(minor) < 10)
      problem = `${required}, but ${command} is ${major}.${minor}: install a newer one.`
    else if (venv !== 'True')
      problem = `${command} lacks the module venv, which the local AWS requires: install it (Debian and Ubuntu: apt install python3-venv).`
    else return { command }
  }
  return { command: '', problem }
}

/** Returns the output of a command, or nothing if it fails. */
function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 10_000 }, (error, stdout) => resolve(error ? '' : stdout))
  })
}
