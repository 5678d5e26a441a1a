import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { javaCommand, mavenArtifacts } from './java.ts'

/** Newer releases need manually pinned AWS SDK artifacts. */
export const version = '3.1.0'
const readyWithinMs = 120_000
const stopWithinMs = 5000
const starts = 3
/** Tests last minutes: the optimizing compiler costs more processor time than it saves. */
const jvmOfTests = ['-XX:TieredStopAtLevel=1']
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Amazon's artifact contains SQLite for Intel machines only. */
const sqliteOfAppleSilicon =
  process.platform === 'darwin' && process.arch === 'arm64'
    ? ['io.github.ganadist.sqlite4java:libsqlite4java-osx-aarch64:1.0.392::dylib']
    : []

interface DynamodbLocal {
  readonly endpoint: string
  readonly stop: () => Promise<void>
}

interface Running {
  readonly child: ChildProcess
  /** The end of its output, for the error message of a failed start. */
  readonly output: () => string
}

let ofThisRun: DynamodbLocal | undefined

/** Runs in jest's globalSetup: the workers started after it inherit DYNAMODB_ENDPOINT. */
export async function startForRun(): Promise<void> {
  if (process.env.DYNAMODB_ENDPOINT) return
  ofThisRun = await startDynamodbLocal(jvmOfTests)
  process.env.DYNAMODB_ENDPOINT = ofThisRun.endpoint
}

/** Runs in jest's globalTeardown. */
export async function stopAfterRun(): Promise<void> {
  if (!ofThisRun) return
  await ofThisRun.stop()
  ofThisRun = undefined
  delete process.env.DYNAMODB_ENDPOINT
}

/**
 * Starts DynamoDB Local in memory on a free port and returns once it answers.
 * @param jvm options of Java; by default those that answer fastest in the long run
 */
export async function startDynamodbLocal(jvm: readonly string[] = []): Promise<DynamodbLocal> {
  const artifacts = [`software.amazon.dynamodb:DynamoDBLocal:${version}`, ...sqliteOfAppleSilicon]
  const jars = await mavenArtifacts(`dynamodb-local-${version}`, artifacts)
  const java = await javaCommand()
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const endpoint = `http://127.0.0.1:${port}`
    const server = await startServer(java, jars, port, jvm)
    if (await answers(endpoint, server)) return { endpoint, stop: () => stop(server) }
    // Another process can take the port before java does. Then java ends, and another port is tried.
    const retry = hasEnded(server) && attempt < starts
    await stop(server)
    if (!retry) throw new Error(`DynamoDB Local did not start: ${server.output() || 'it gave no answer'}`)
  }
}

async function startServer(
  java: string,
  jars: string,
  port: number,
  options: readonly string[],
): Promise<Running> {
  const main = 'software.amazon.dynamodb.services.local.main.ServerRunner'
  const jvm = [
    ...options,
    '-XX:+UseSerialGC',
    '-Xmx1g',
    `-Djava.library.path=${jars}`,
    '-cp',
    join(jars, '*'),
  ]
  const server = await run(java, [
    ...jvm,
    main,
    '-inMemory',
    '-sharedDb',
    '-disableTelemetry',
    '-port',
    `${port}`,
  ])
  endWithThisProcess(server.child)
  return server
}

/** Spawns a command and keeps the end of its output. */
async function run(command: string, args: string[]): Promise<Running> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk).slice(-2000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  await once(child, 'spawn')
  return { child, output: () => output.trim() }
}

/** Kills java when a run ends by Ctrl-C or a crash. */
function endWithThisProcess(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL')
  const pass = (signal: NodeJS.Signals) => {
    kill()
    process.kill(process.pid, signal) // the listener is gone by now, so this ends the process as it would have
  }
  process.once('exit', kill)
  for (const signal of endings) process.once(signal, pass)
  child.once('exit', () => {
    process.removeListener('exit', kill)
    for (const signal of endings) process.removeListener(signal, pass)
  })
}

async function answers(endpoint: string, server: Running): Promise<boolean> {
  const deadline = performance.now() + readyWithinMs
  while (performance.now() < deadline && !hasEnded(server)) {
    // Any response suffices: without credentials it is a 400.
    const response = await fetch(endpoint).catch(() => undefined)
    await response?.body?.cancel()
    if (response && !hasEnded(server)) return true
    await sleep(50)
  }
  return false
}

async function stop(server: Running): Promise<void> {
  if (hasEnded(server)) return
  const ended = once(server.child, 'exit')
  server.child.kill('SIGTERM')
  const timer = setTimeout(() => server.child.kill('SIGKILL'), stopWithinMs)
  await ended
  clearTimeout(timer)
}

const hasEnded = ({ child }: Running) => child.exitCode !== null || child.signalCode !== null
