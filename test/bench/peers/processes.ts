import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Options {
  folder?: string
  environment?: Record<string, string>
  /** Another user to run as. */
  user?: { uid: number; gid: number }
  /** What ends it in good order; without one it is ended at once. */
  stopSignal?: NodeJS.Signals
  /** The folder that it leaves behind: removed with it. */
  leaves?: string
  /** Opens a channel for messages, and keeps no log, so that reading it costs nobody anything. */
  messages?: boolean
}

export interface Process {
  child: ChildProcess
  /** The last of what it printed. */
  output(): string
}

const endWithinMs = 10_000
const running = new Map<ChildProcess, Options>()

/** Aborted once this process was told to end, or was not done in time. */
const stopped = new AbortController()
export const wasStopped = (): boolean => stopped.signal.aborted

/** However this process ends, nothing that it started is left running, and no folder of theirs is left behind. */
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
    // A killed npm passes no signal on.
    if (late || process.ppid !== parent) stop(1)
  }
  setInterval(watch, 1000).unref()
}

/** Ends everything that was started, and waits for it. */
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

/** Starts a program in a process group of its own. */
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

/** Runs a program to its end. @returns what it printed. @throws Error with that, where it fails. */
export async function run(command: string, args: string[], options: Options = {}): Promise<string> {
  const { child, output } = start(command, args, options)
  const [code] = await once(child, 'close').catch(() => [undefined])
  running.delete(child)
  if (code === 0) return output()
  remove(options.leaves)
  throw new Error(`${command} ${args.join(' ')} failed: ${output()}`)
}

/** The first message of a program that sends one once it is ready. */
export async function firstMessage({ child, output }: Process, name: string): Promise<unknown> {
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  if (message === undefined) throw new Error(`${name} did not start: ${output()}`)
  return message
}

/** Waits until an address answers, whatever it answers. */
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

/** Ends a program together with what it started in its group. */
function end({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid) process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}

function remove(folder: string | undefined): void {
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null
