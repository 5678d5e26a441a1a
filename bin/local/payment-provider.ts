import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assertPortFree } from '#bin/local/engine.ts'
import { cleanEnvironment, ROOT } from '#bin/local/environment.ts'
import { StartFailure } from '#bin/local/failure.ts'
import { endGroup } from '#bin/local/run-step.ts'

const READY_WITHIN_MS = 10_000
const HOST = '127.0.0.1'

/** The fake that the tests use. It is started as a command because nothing outside test/ may import from there. */
const COMMAND = join(ROOT, 'test/support/payment-provider/main.ts')

export interface PaymentProviderOptions {
  readonly port: number
  readonly logFile: string
}

/** The fake payment provider in a separate process. */
export interface LocalPaymentProvider {
  /** Without a trailing slash. */
  readonly endpoint: string
  readonly pid: number
  /** Resolves with one sentence when it ends without `stop`; never rejects. */
  readonly died: Promise<string>
  /** Can be called more than once. */
  stop(): Promise<void>
}

/** Returns the port on this machine where a profile expects the payment provider, or undefined if it is elsewhere. */
export async function localProviderPort(settings: string): Promise<number | undefined> {
  const endpoint = await readFile(settings, 'utf8')
    .then((text) => new URL(JSON.parse(text)['refunds.provider'].endpoint))
    // Synthesis reports invalid profiles in full.
    .catch(() => undefined)
  if (endpoint?.protocol !== 'http:' || endpoint.hostname !== HOST) return undefined
  return Number(endpoint.port || 80)
}

/** @throws StartFailure with advice if something already listens on the port. */
export async function assertProviderPortFree(port: number): Promise<void> {
  await assertPortFree(port).catch(() => {
    throw new StartFailure(
      `Port ${port} is taken, which the profile gives to the payment provider: stop what listens there or change refunds.provider in a profile of your own (--settings).`,
    )
  })
}

/**
 * Starts the fake on loopback, with all state in memory.
 * @throws StartFailure if it is not ready within 10 s
 */
export async function startPaymentProvider(options: PaymentProviderOptions): Promise<LocalPaymentProvider> {
  const { port, logFile } = options
  await mkdir(dirname(logFile), { recursive: true })
  const child = spawn(process.execPath, [COMMAND, '--port', String(port)], {
    env: cleanEnvironment(),
    // A separate process group, so Ctrl-C ends it only through `stop`.
    detached: true,
    // The fake ends itself when this channel closes.
    stdio: ['ignore', openSync(logFile, 'w'), openSync(logFile, 'a'), 'ipc'],
  })
  let stopping = false
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`The payment provider could not start: ${error.message}.`))
    child.once('exit', (code, signal) =>
      resolve(`The payment provider ended by itself (${signal ?? `exit ${code}`}); its log is ${logFile}.`),
    )
  })
  const pid = child.pid ?? 0
  const stop = async (): Promise<void> => {
    stopping = true
    if (pid > 0) await endGroup(pid)
    await exited
  }
  const died = new Promise<string>((resolve) => {
    void exited.then((sentence) => {
      if (!stopping) resolve(sentence)
    })
  })
  const endpoint = `http://${HOST}:${port}`
  // The fake reports that it listens: another process could answer at the port.
  const listening = new Promise<undefined>((resolve) => child.once('message', () => resolve(undefined)))
  const problem = await Promise.race([died, listening, overdue()])
  if (problem !== undefined) {
    await stop()
    throw new StartFailure(problem, readFileSync(logFile, 'utf8').slice(-4_000).trimEnd())
  }
  return { endpoint, pid, died, stop }
}

function overdue(): Promise<string> {
  const sentence = `The payment provider was not ready within ${READY_WITHIN_MS / 1000} s.`
  return new Promise((resolve) => setTimeout(resolve, READY_WITHIN_MS, sentence).unref())
}
