import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isFree } from './addresses.ts'
import { enginePython } from './engine-install.ts'
import { cleanEnvironment, fileOfRun, type LocalAws, makePrivateDirectory, REGION } from './environment.ts'
import { type Server, StartFailure, startServer } from './process.ts'

const HOST = '127.0.0.1'

interface EngineOptions {
  readonly port: number
  /** The directory of its log, the activity file and `permissions.log`: the permissions that functions used. */
  readonly directory: string
  /** The origins whose pages may call the API. */
  readonly origins?: readonly string[]
  /** The port of a proxy, if requests that are signed for it are forwarded to the engine. */
  readonly proxyPort?: number
}

export interface Engine extends Server {
  readonly aws: LocalAws
}

/**
 * Starts the installed engine (see `installEngine`) on loopback, with all state in memory and new random keys. The
 * endpoint is the value of AWS_ENDPOINT_URL.
 * @throws StartFailure if the port is in use or the engine does not respond in time
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { port, directory, origins = [], proxyPort = port } = options
  await assertPortFree(port)
  makePrivateDirectory(directory)
  // The code of the Lambdas is unpacked here. The directory is removed with the engine.
  const scratch = mkdtempSync(join(tmpdir(), 'commerce-local-'))
  const endpoint = `http://${HOST}:${port}`
  const credentials = {
    accessKeyId: `LOCAL${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64url'),
  }
  const aws = { endpoint, region: REGION, credentials }
  const { accessKeyId: key_id, secretAccessKey: secret } = credentials
  const server = await startServer({
    name: 'The local AWS',
    command: enginePython(),
    args: [join(import.meta.dirname, 'launcher.py')],
    env: {
      ...engineEnvironment(port, scratch),
      LOCAL_ENGINE_ACCESS: JSON.stringify({ key_id, secret, ports: [port, proxyPort], origins }),
      LOCAL_ENGINE_ACTIVITY: activityFile(directory),
      LOCAL_ENGINE_PERMISSIONS: join(directory, 'permissions.log'),
    },
    channel: 'stdin',
    endpoint,
    logFile: join(directory, 'engine.log'),
    isReady: () => isHealthy(aws),
    cleanUp: () => rmSync(scratch, { recursive: true, force: true }),
  })
  return { ...server, aws }
}

/** Returns the file that gets a line of JSON for each request and each log line of a function, as they come. */
export function activityFile(directory: string): string {
  return join(directory, 'activity.jsonl')
}

/** @throws StartFailure with advice if something already listens on the port. */
export async function assertPortFree(port: number): Promise<void> {
  // Some systems also let a second program listen. The first one still answers.
  if ((await isFree(port, HOST)) && (await engineStatus(`http://${HOST}:${port}`)) === undefined) return
  const holder = existsSync(fileOfRun(port)) ? 'another npm start of this clone' : 'another program'
  throw new StartFailure(
    `Port ${port} is in use by ${holder}: stop it, or choose another port, such as npm start -- --port 5000.`,
  )
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
    // Functions have the permissions of their role only, as on AWS. The launcher lists the exceptions.
    AUTH: 'true',
    // The launcher makes calls wait for a worker. The engine itself would reject them on a small machine.
    LAMBDA_ACCOUNT_CONCURRENCY: '0',
    // By default the engine issues tokens without the claims of a failed function. AWS issues none.
    MINISTACK_COGNITO_PRETOKEN_STRICT: '1',
    LOG_LEVEL: 'WARNING',
    PYTHONUNBUFFERED: '1',
  }
}

/** Returns whether the engine with these keys answers in time. */
export async function isHealthy(aws: LocalAws, milliseconds?: number): Promise<boolean> {
  return (await engineStatus(`${aws.endpoint}/_ministack/health`, engineHeaders(aws), milliseconds)) === 200
}

/** Returns the headers of a request for the engine's own paths, below /_ministack/. */
export function engineHeaders({ credentials }: LocalAws): Record<string, string> {
  return { 'X-Local-Secret': credentials.secretAccessKey }
}

async function engineStatus(
  url: string,
  headers: Record<string, string> = {},
  milliseconds = 2000,
): Promise<number | undefined> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(milliseconds) })
    await response.arrayBuffer()
    return response.status
  } catch {
    return undefined
  }
}
