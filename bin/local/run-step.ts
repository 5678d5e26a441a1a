import { spawn } from 'node:child_process'
import { StartFailure } from '#bin/local/failure.ts'

/** How long a process group may take to end before it is killed, in milliseconds. */
const GRACE_MS = 5_000

export interface Step {
  /** Completes the sentence "… failed", for example "Synthesising the stack". */
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
export function runStep(step: Step): Promise<string> {
  const { name, command, args, env, signal } = step
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    // A separate process group: the CDK command line starts processes, and all of them must end together.
    const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const collect = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    const abort = (): void => {
      if (child.pid !== undefined) void endGroup(child.pid)
    }
    signal.addEventListener('abort', abort, { once: true })
    child.once('error', (error) => reject(new StartFailure(`${name} failed: ${error.message}.`)))
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', abort)
      if (signal.aborted) reject(signal.reason)
      else if (code === 0) resolve(output)
      else
        reject(
          new StartFailure(
            `${name} failed: ${reason(output) ?? `exit ${code ?? killedBy}`}`,
            output.trimEnd(),
          ),
        )
    })
  })
}

/** Ends exactly one process group: sends SIGTERM, waits up to `graceMs`, then kills it. */
export async function endGroup(pid: number, graceMs = GRACE_MS): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return
  const deadline = Date.now() + graceMs
  while (Date.now() < deadline) {
    await new Promise((wake) => setTimeout(wake, 50))
    if (!signalGroup(pid, 0)) return
  }
  signalGroup(pid, 'SIGKILL')
}

/** Returns whether the group still existed when it was signaled. Signal 0 only checks. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch {
    return false
  }
}

/** Returns the message of a JavaScript error in the output, without its stack trace. */
function reason(output: string): string | undefined {
  return /^\w*Error(?: \[\w+\])?: ([\s\S]+?)(?=\n\s+at |\n\n|\n?(?![\s\S]))/m.exec(output)?.[1]?.trimEnd()
}
