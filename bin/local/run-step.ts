import { spawn } from 'node:child_process'
import { StartFailure } from '#bin/local/failure.ts'

/** How long a process group may take to end by itself before it is killed, in milliseconds. */
const GRACE_MS = 5_000

export interface Step {
  /** Completes the sentence "… failed", for example "Synthesising the stack". */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Ends the step, with all processes it started, when the start command stops. */
  readonly signal: AbortSignal
}

/**
 * Runs one command to its end and returns what it printed (standard output and error, in order).
 * @throws StartFailure with the whole output if it exits with anything but 0; `signal.reason` if aborted.
 */
export function runStep(step: Step): Promise<string> {
  const { name, command, args, env, signal } = step
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    // A group of its own: the CDK command line starts processes too, and all of them must end together.
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

/** Ends exactly one process group: asks it, waits up to `graceMs`, then kills it. */
export async function endGroup(pid: number, graceMs = GRACE_MS): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return
  const deadline = Date.now() + graceMs
  while (Date.now() < deadline) {
    await new Promise((wake) => setTimeout(wake, 50))
    if (!signalGroup(pid, 0)) return
  }
  signalGroup(pid, 'SIGKILL')
}

/** Whether the group still existed when it was signalled; signal 0 only asks. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch {
    return false
  }
}

/** What a JavaScript error in the output says, without the stack trace around it. */
function reason(output: string): string | undefined {
  return /^\w*Error(?: \[\w+\])?: ([\s\S]+?)(?=\n\s+at |\n\n|\n?(?![\s\S]))/m.exec(output)?.[1]?.trimEnd()
}
