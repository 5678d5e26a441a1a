import { spawn } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { enginePython } from '#bin/local/engine-install.ts'
import { cleanEnvironment, REGION } from '#bin/local/environment.ts'
import { StartFailure } from '#bin/local/failure.ts'
import { endGroup, signalGroup } from '#bin/local/run-step.ts'

const READY_WITHIN_MS = 30_000
const HOST = '127.0.0.1'

export interface EngineOptions {
  readonly port: number
  /** The log of the engine and the Lambdas, which never write to the terminal. */
  readonly logFile: string
}

export interface Engine {
  /** The value of AWS_ENDPOINT_URL, without a trailing slash. */
  readonly endpoint: string
  readonly pid: number
  /** Resolves with one sentence when the engine ends without `stop`; never rejects. */
  readonly died: Promise<string>
  /** Ends the engine and every Lambda worker that it started. Can be called more than once. */
  stop(): Promise<void>
}

/**
 * Starts the installed engine (see `installEngine`) on loopback, with all state in memory.
 * @throws StartFailure if the port is in use or the engine does not answer within 30 s.
 */
export async function startEngine({ port, logFile }: EngineOptions): Promise<Engine> {
  await assertPortFree(port)
  await mkdir(dirname(logFile), { recursive: true })
  // The code of the Lambdas is unpacked here. The directory is removed with the engine.
  const scratch = mkdtempSync(join(tmpdir(), 'commerce-local-'))
  const child = spawn(enginePython(), [join(import.meta.dirname, 'launcher.py')], {
    env: engineEnvironment(port, scratch),
    // A separate process group: stopping it ends the Lambda workers and nothing else.
    detached: true,
    // The launcher ends itself when this end of its standard input closes.
    stdio: ['pipe', openSync(logFile, 'w'), openSync(logFile, 'a')],
  })
  let stopping = false
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`The local AWS could not start: ${error.message}.`))
    child.once('exit', (code, signal) =>
      resolve(`The local AWS ended by itself (${signal ?? `exit ${code}`}); its log is ${logFile}.`),
    )
  })
  child.stdin?.on('error', () => {})
  const pid = child.pid ?? 0
  const stop = async (): Promise<void> => {
    stopping = true
    if (pid > 0) await endGroup(pid)
    await exited
    rmSync(scratch, { recursive: true, force: true })
  }
  const died = new Promise<string>((resolve) => {
    void exited.then((sentence) => {
      // Workers outlive a killed engine for a moment. None of them may remain.
      if (pid > 0) signalGroup(pid, 'SIGKILL')
      if (!stopping) resolve(sentence)
    })
  })
  const endpoint = `http://${HOST}:${port}`
  const problem = await Promise.race([died, untilHealthy(endpoint)])
  if (problem !== undefined) {
    await stop()
    throw new StartFailure(problem, readFileSync(logFile, 'utf8').slice(-4_000).trimEnd())
  }
  return { endpoint, pid, died, stop }
}

/** @throws StartFailure with advice if something already listens on the port. */
export async function assertPortFree(port: number): Promise<void> {
  const free = await new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)))
  })
  if (free && !(await isHealthy(`http://${HOST}:${port}`))) return
  throw new StartFailure(`Port ${port} is taken: stop what listens there or choose another with --port.`)
}

function engineEnvironment(port: number, scratch: string): NodeJS.ProcessEnv {
  return {
    ...cleanEnvironment(),
    // By default it listens on every address of the machine.
    BIND_HOST: HOST,
    MINISTACK_HOST: 'localhost',
    GATEWAY_PORT: String(port),
    MINISTACK_REGION: REGION,
    // Both would open more ports.
    SFTP_ENABLED: '0',
    IOT_MTLS_ENABLED: '0',
    // In memory only. Unpacked files are in a directory that is removed with the engine.
    PERSIST_STATE: '0',
    S3_PERSIST: '0',
    TMPDIR: scratch,
    // The launcher removes the directory if it must end without this process.
    LOCAL_ENGINE_SCRATCH: scratch,
    S3_DATA_DIR: join(scratch, 's3'),
    STATE_DIR: join(scratch, 'state'),
    // The launcher makes calls wait for a worker. The engine itself would reject them on a small machine.
    LAMBDA_ACCOUNT_CONCURRENCY: '0',
    // By default the engine issues tokens without the claims of a failed function. AWS issues none.
    MINISTACK_COGNITO_PRETOKEN_STRICT: '1',
    LOG_LEVEL: 'WARNING',
    PYTHONUNBUFFERED: '1',
  }
}

async function untilHealthy(endpoint: string): Promise<string | undefined> {
  const deadline = Date.now() + READY_WITHIN_MS
  while (Date.now() < deadline) {
    if (await isHealthy(endpoint)) return undefined
    await new Promise((wake) => setTimeout(wake, 100))
  }
  return `The local AWS did not answer within ${READY_WITHIN_MS / 1000} s.`
}

/** Returns whether an engine answers at the endpoint. */
export async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const answer = await fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(2_000) })
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}
