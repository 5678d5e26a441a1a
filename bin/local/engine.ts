import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { enginePython } from './engine-install.ts'
import { cleanEnvironment, REGION } from './environment.ts'
import { type Server, StartFailure, startServer } from './process.ts'

const HOST = '127.0.0.1'

/**
 * Starts the installed engine (see `installEngine`) on loopback, with all state in memory. The endpoint is the value of
 * AWS_ENDPOINT_URL.
 * @param directory of its log, the activity file and `permissions.log`: the permissions that functions used
 * @throws StartFailure if the port is in use or the engine does not respond within 30 s
 */
export async function startEngine({ port, directory }: { port: number; directory: string }): Promise<Server> {
  await assertPortFree(port)
  // The code of the Lambdas is unpacked here. The directory is removed with the engine.
  const scratch = mkdtempSync(join(tmpdir(), 'commerce-local-'))
  const endpoint = `http://${HOST}:${port}`
  return startServer({
    name: 'The local AWS',
    command: enginePython(),
    args: [join(import.meta.dirname, 'launcher.py')],
    env: {
      ...engineEnvironment(port, scratch),
      LOCAL_ENGINE_ACTIVITY: activityFile(directory),
      LOCAL_ENGINE_PERMISSIONS: join(directory, 'permissions.log'),
    },
    channel: 'stdin',
    endpoint,
    logFile: join(directory, 'engine.log'),
    isReady: () => isHealthy(endpoint),
    cleanUp: () => rmSync(scratch, { recursive: true, force: true }),
  })
}

/** Returns the file that gets a line of JSON for each request and each log line of a function, as they come. */
export function activityFile(directory: string): string {
  return join(directory, 'activity.jsonl')
}

/** @throws StartFailure with advice if something already listens on the port. */
export async function assertPortFree(port: number): Promise<void> {
  const free = await new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: HOST, exclusive: true }, () => server.close(() => resolve(true)))
  })
  if (free && !(await isHealthy(`http://${HOST}:${port}`))) return
  throw new StartFailure(
    `Port ${port} is in use: stop the program that uses it, or choose another with --port.`,
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

/** Returns whether an engine answers at the endpoint. */
export async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
