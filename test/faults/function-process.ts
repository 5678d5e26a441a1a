import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from '#bin/build/bundle.ts'
import type { Settings } from '#shared/settings/register.ts'

/** A bundled function in a separate process, which handles one event after another until it is killed. */
export interface FunctionProcess {
  /** Sends an event without waiting for the result. */
  begin(event: object): void
  // biome-ignore lint/suspicious/noExplicitAny: each function has its own type of reply
  send(event: object): Promise<any>
  /** Returns the most memory in use since the first call, without garbage, in MB. */
  peakMegabytes(): Promise<number>
  /** Kills the process with SIGKILL and returns once it ended. */
  kill(): Promise<void>
}

interface Functions {
  start(name: string): Promise<FunctionProcess>
  /** Ends all remaining processes. */
  killAll(): Promise<void>
  stop(): Promise<void>
}

const root = join(import.meta.dirname, '../..')

/**
 * Bundles functions like a deployment.
 * @param folders name to folder below functions/
 * @param environment variables in addition to the region and credentials of Lambda
 * @param onOutput called with what the processes print
 */
export async function bundleFunctions(
  folders: Record<string, string>,
  settings: Settings,
  environment: Record<string, string>,
  onOutput?: (text: string) => void,
): Promise<Functions> {
  const scratch = await mkdtemp(join(tmpdir(), 'functions-'))
  const entries = Object.fromEntries(
    Object.entries(folders).map(([name, folder]) => [name, join(root, 'functions', folder, 'handler.ts')]),
  )
  const bundles = await bundle({ entries, outdir: scratch, settings: JSON.stringify(settings) })
  const running = new Set<FunctionProcess>()
  const env = {
    PATH: process.env.PATH,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    ...environment,
  }
  const functions: Functions = {
    async start(name) {
      const code = pathToFileURL(join(bundles[name]?.directory ?? '', 'index.mjs')).href
      const child = fork(join(import.meta.dirname, 'run-function.mjs'), [code], {
        env,
        stdio: ['ignore', onOutput ? 'pipe' : 'ignore', onOutput ? 'pipe' : 'inherit', 'ipc'],
      })
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (text) => onOutput?.(String(text)))
      const started = processOf(child)
      running.add(started)
      await once(child, 'message')
      return started
    },
    async killAll() {
      await Promise.all(Array.from(running, (one) => one.kill()))
      running.clear()
    },
    async stop() {
      await functions.killAll()
      await rm(scratch, { recursive: true, force: true })
    },
  }
  return functions
}

function processOf(child: ChildProcess): FunctionProcess {
  async function send(message: object | 'memory') {
    child.send(message)
    const [reply] = await once(child, 'message')
    if (reply?.errorMessage !== undefined) throw new Error(reply.errorMessage)
    return reply
  }
  return {
    begin: (event) => void child.send(event),
    send,
    peakMegabytes: () => send('memory'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Returns the gateway's event for a request with a JSON body. */
export function postEvent(path: string, headers: Record<string, string>, body: unknown) {
  const sent = { 'Content-Type': 'application/json', ...headers }
  return {
    resource: path,
    path,
    httpMethod: 'POST',
    headers: sent,
    multiValueHeaders: Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, [value]])),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
    requestContext: { requestId: crypto.randomUUID(), stage: 'test', path: `/test${path}` },
    body: JSON.stringify(body),
    isBase64Encoded: false,
  }
}
