import { execFile } from 'node:child_process'
import { StartFailure } from '#bin/local/failure.ts'

const NODE_MAJOR = 20
const PYTHON_NAMES = [
  'python3',
  'python3.14',
  'python3.13',
  'python3.12',
  'python3.11',
  'python3.10',
  'python',
]

/** Prints the version, then whether a virtual environment with pip can be created (a separate package on Debian). */
const PYTHON_PROBE = [
  'import sys, importlib.util as u',
  'print(*sys.version_info[:2], bool(u.find_spec("venv") and u.find_spec("ensurepip")))',
].join('\n')

export interface Prerequisites {
  /** The Python that creates the virtual environment of the local AWS. */
  readonly python: string
}

/** @throws StartFailure with one sentence for each missing prerequisite. */
export async function checkPrerequisites(): Promise<Prerequisites> {
  const python = await findPython()
  const problems = [nodeProblem(), 'problem' in python ? python.problem : undefined].filter(
    (p) => p !== undefined,
  )
  if (problems.length > 0 || !('command' in python)) throw new StartFailure(problems.join('\n'))
  return { python: python.command }
}

/** Checks the Node that runs npm. This process itself may run on the pinned Node of node_modules. */
function nodeProblem(): string | undefined {
  const version =
    /\bnode\/v([\d.]+)/.exec(process.env.npm_config_user_agent ?? '')?.[1] ?? process.versions.node
  if (Number.parseInt(version, 10) >= NODE_MAJOR) return undefined
  return `Node ${NODE_MAJOR} or newer is needed and this is ${version}: install it from https://nodejs.org.`
}

async function findPython(): Promise<{ command: string } | { problem: string }> {
  const wanted = 'Python 3.10 or newer is needed by the local AWS'
  let problem = `${wanted} and none was found: install it from https://www.python.org or your package manager.`
  for (const command of PYTHON_NAMES) {
    const found = await probePython(command)
    if (!found) continue
    if (found.major !== 3 || found.minor < 10) {
      problem = `${wanted} and ${command} is ${found.major}.${found.minor}: install a newer one beside it.`
    } else if (!found.venv) {
      problem = `${command} has no venv module, which the local AWS needs: install it (Debian and Ubuntu: apt install python3-venv).`
    } else {
      return { command }
    }
  }
  return { problem }
}

interface FoundPython {
  readonly major: number
  readonly minor: number
  readonly venv: boolean
}

function probePython(command: string): Promise<FoundPython | undefined> {
  return new Promise((resolve) => {
    execFile(command, ['-c', PYTHON_PROBE], { timeout: 10_000 }, (error, stdout) => {
      const [major, minor, venv] = stdout.trim().split(' ')
      resolve(error ? undefined : { major: Number(major), minor: Number(minor), venv: venv === 'True' })
    })
  })
}
