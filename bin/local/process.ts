import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A failure that the reader can act on: one sentence, and the full output of the failed step if it helps. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly output: string

  constructor(sentence: string, output = '') {
    super(sentence)
    this.output = output
  }
}

/** How long a process group may take to end before it is killed, in milliseconds. */
const GRACE_MS = 5_000
/** How long a server may take to start, in milliseconds. A busy machine needs minutes for the engine. */
const READY_MS = 600_000

interface Step {
  /** Completes the sentence "… failed", for example "Synthesizing the stack". */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Ends the step and all processes that it started when the start command stops. */
  readonly signal: AbortSignal
}

/**
 * Runs one command to its end and returns its output (standard output and error, in order).
 * @throws StartFailure with the whole output if the exit code is not 0; `signal.reason` if aborted.
 */
export function runStep({ name, command, args, env, signal }: Step): Promise<string> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    // A separate process group: the CDK command line starts processes, and all of them must end together.
    const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const abort = (): void => {
      if (child.pid !== undefined) void endGroup(child.pid)
    }
    signal.addEventListener('abort', abort, { once: true })
    child.once('error', (error) => reject(new StartFailure(`${name} failed: ${error.message}.`)))
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', abort)
      if (signal.aborted) return reject(signal.reason)
      if (code === 0) return resolve(output)
      const reason = errorIn(output) ?? `exit ${code ?? killedBy}`
      reject(new StartFailure(`${name} failed: ${reason}`, output.trimEnd()))
    })
  })
}

/** Returns the message of a JavaScript error in the output, without its stack trace. */
function errorIn(output: string): string | undefined {
  return /^\w*Error(?: \[\w+\])?: ([\s\S]+?)(?=\n\s+at |\n\n|\n?(?![\s\S]))/m.exec(output)?.[1]?.trimEnd()
}

/** A part of the local service: a process that runs until it is stopped. */
export interface Server {
  /** Without a trailing slash. */
  readonly endpoint: string
  readonly pid: number
  /** Resolves with one sentence when the process ends without `stop`; never rejects. */
  readonly died: Promise<string>
  /** Ends the process and every process that it started. Can be called more than once. */
  stop(): Promise<void>
}

interface ServerOptions {
  /** Begins a sentence, for example "The local AWS". */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** A channel to the process. It ends itself when the channel closes. */
  readonly channel: 'stdin' | 'ipc'
  readonly endpoint: string
  /** The log of the process, which never writes to the terminal. */
  readonly logFile: string
  /** Returns whether the server is ready. By default, it is once it has sent a message through the channel. */
  readonly isReady?: () => Promise<boolean>
  /** Runs after the process ended. */
  readonly cleanUp?: () => void
}

/** Starts a server on loopback. @throws StartFailure with the end of its log if it is not ready in time */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { name, command, args, env, channel, endpoint, logFile } = options
  await mkdir(dirname(logFile), { recursive: true })
  const log = [openSync(logFile, 'w'), openSync(logFile, 'a')] as const
  // A separate process group: Ctrl-C ends it only through `stop`, with its children and nothing else.
  const stdio = channel === 'ipc' ? (['ignore', ...log, 'ipc'] as const) : (['pipe', ...log] as const)
  const child = spawn(command, args, { env, detached: true, stdio: [...stdio] })
  child.stdin?.on('error', () => {})
  const pid = child.pid ?? 0
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`${name} could not start: ${error.message}.`))
    child.once('exit', (code, signal) =>
      resolve(`${name} ended unexpectedly (${signal ?? `exit ${code}`}). Its log is ${logFile}.`),
    )
  })
  let stopping = false
  const stop = async (): Promise<void> => {
    stopping = true
    if (pid > 0) await endGroup(pid)
    await exited
    options.cleanUp?.()
  }
  const died = new Promise<string>((resolve) => {
    void exited.then((sentence) => {
      // Children outlive a killed process for a moment. None of them may remain.
      if (pid > 0) signalGroup(pid, 'SIGKILL')
      if (!stopping) resolve(sentence)
    })
  })
  let listening = false
  child.once('message', () => {
    listening = true
  })
  const { isReady = () => listening } = options
  const deadline = Date.now() + READY_MS
  const overdue = async (): Promise<string | undefined> => {
    while (!stopping && !(await isReady())) {
      if (Date.now() > deadline) return `${name} was not ready within ${READY_MS / 1000} s.`
      await sleep(50)
    }
    return undefined
  }
  const problem = await Promise.race([died, overdue()])
  if (problem === undefined) return { endpoint, pid, died, stop }
  await stop()
  throw new StartFailure(problem, readFileSync(logFile, 'utf8').slice(-4_000).trimEnd())
}

/** Ends exactly one process group: sends SIGTERM, waits, then kills it. */
async function endGroup(pid: number): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return
  const deadline = Date.now() + GRACE_MS
  while (Date.now() < deadline) {
    await sleep(50)
    if (!signalGroup(pid, 0)) return
  }
  signalGroup(pid, 'SIGKILL')
}

/** Returns whether the group still existed when it was signaled. Signal 0 only checks. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch {
    return false
  }
}
