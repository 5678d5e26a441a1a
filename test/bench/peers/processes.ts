import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Options {
  folder?: string
  environment?: Record<string, string>
  /** Another user to run as. */
  user?: { uid: number; gid: number }
  /** Says everything that it started to end; at once, unless it is told otherwise. */
  stopSignal?: NodeJS.Signals
  /** What it leaves behind, removed once it has ended. */
  leaves?: string
  /** Opens a channel for messages, and keeps no log, so that reading it costs nobody anything. */
  messages?: boolean
}

export interface Process {
  child: ChildProcess
  /** The last of what it printed. */
  output(): string
  stop(): Promise<void>
}

const stopWithinMs = 10_000
const running = new Map<ChildProcess, Options>()

/** However this process ends, nothing that it started is left running, and no folder of theirs is left behind. */
export function endAllWithThisProcess(withinMinutes: number): void {
  process.on('exit', () => {
    for (const [child, { stopSignal, leaves }] of running) {
      signalGroup(child, stopSignal ?? 'SIGKILL')
      if (leaves) rmSync(leaves, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    }
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
  const parent = process.ppid
  const deadline = performance.now() + withinMinutes * 60_000
  const watch = () => {
    if (performance.now() > deadline)
      console.error(`not done within ${withinMinutes} minutes, so it is given up`)
    else if (process.ppid === parent) return
    process.exit(1)
  }
  setInterval(watch, 1000).unref()
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
  const keep = (chunk: Buffer) => {
    printed = (printed + chunk).slice(-4000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.on('error', (error) => keep(Buffer.from(error.message)))
  return { child, output: () => printed.trim(), stop: () => stop(child, options) }
}

/** Runs a program to its end. @returns what it printed. @throws Error with that, where it fails. */
export async function run(command: string, args: string[], options: Options = {}): Promise<string> {
  const { child, output } = start(command, args, options)
  const [code] = await once(child, 'close').catch(() => [undefined])
  running.delete(child)
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${output()}`)
  return output()
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

async function stop(child: ChildProcess, { stopSignal = 'SIGKILL', leaves }: Options): Promise<void> {
  if (!hasEnded(child)) {
    const ended = once(child, 'exit')
    signalGroup(child, stopSignal)
    const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), stopWithinMs)
    await ended
    clearTimeout(timer)
  }
  running.delete(child)
  if (leaves) rmSync(leaves, { recursive: true, force: true })
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid) process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null
