import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

interface Options {
  folder?: string
  environment?: Record<string, string>
  /** Another user to run as. */
  user?: { uid: number; gid: number }
  /** The signal for a graceful end; without one it is killed. */
  stopSignal?: NodeJS.Signals
  /** Its folder, which is removed when it ends. */
  leaves?: string
  /** Opens a channel for messages, and discards the log, so reading it costs nothing. */
  messages?: boolean
}

interface Process {
  child: ChildProcess
  /** The end of its output. */
  output(): string
}

const endWithinMs = 10_000
const running = new Map<ChildProcess, Options>()

/** Aborted when this process is signaled to end, or at its time limit. */
const stopped = new AbortController()
export const wasStopped = (): boolean => stopped.signal.aborted

/** Ends all started processes and removes their folders, however this process ends. */
export function endAllWithThisProcess(withinMinutes: number): void {
  const stop = (exitCode: number) => {
    if (wasStopped()) return
    stopped.abort()
    endAll().finally(() => process.exit(exitCode))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(130))
  process.on('exit', () => {
    for (const child of running.keys()) end(child, 'SIGKILL')
  })
  const parent = process.ppid
  const deadline = performance.now() + withinMinutes * 60_000
  const watch = () => {
    const late = performance.now() > deadline
    if (late && !wasStopped()) console.error(`not done within ${withinMinutes} minutes, so it is given up`)
    // A killed npm does not forward signals.
    if (late || process.ppid !== parent) stop(1)
  }
  setInterval(watch, 1000).unref()
}

/** Ends all started processes and waits for them. */
export async function endAll(): Promise<void> {
  await Promise.all(
    [...running].map(async ([child, { stopSignal, leaves }]) => {
      const ended = hasEnded(child) ? undefined : once(child, 'exit')
      end(child, stopSignal ?? 'SIGKILL')
      const timer = setTimeout(() => end(child, 'SIGKILL'), endWithinMs)
      await ended
      clearTimeout(timer)
      running.delete(child)
      remove(leaves)
    }),
  )
}

/** Starts a program in a new process group. */
export function start(command: string, args: string[], options: Options = {}): Process {
  const { folder, environment, user, messages } = options
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ['ignore', messages ? 'ignore' : 'pipe', 'pipe', messages ? 'ipc' : 'ignore'],
    detached: true,
    ...user,
  })
  running.set(child, options)
  let printed = ''
  const keep = (chunk: Buffer | string) => {
    printed = (printed + chunk).slice(-4000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.on('error', ({ message }) => keep(message))
  return { child, output: () => printed.trim() }
}

export const pidsOf = ({ child: { pid } }: Process): number[] => (pid === undefined ? [] : [pid])

/** Runs a program to its end. @returns its output. @throws Error with the output if it fails. */
export async function run(command: string, args: string[], options: Options = {}): Promise<string> {
  const { child, output } = start(command, args, options)
  const [code] = await once(child, 'close').catch(() => [undefined])
  running.delete(child)
  if (code === 0) return output()
  remove(options.leaves)
  throw new Error(`${command} ${args.join(' ')} failed: ${output()}`)
}

/** Returns the first message of a program, which it sends when it is ready. */
export async function firstMessage({ child, output }: Process, name: string): Promise<unknown> {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  if (message === undefined) throw new Error(`${name} did not start: ${output()}`)
  return message
}

/** Waits until an address responds with any status. */
export async function untilAnswered(
  url: string,
  { child, output }: Process,
  withinMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline && !hasEnded(child)) {
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response) return
    await sleep(200)
  }
  throw new Error(`${url} does not answer: ${output()}`)
}

/** Ends a program and its process group. */
function end({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid) process.kill(-pid, signal)
  } catch {
    // It has already ended.
  }
}

function remove(folder: string | undefined): void {
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null
