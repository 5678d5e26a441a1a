import { chmodSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export const ACCOUNT = '000000000000'
export const REGION = 'us-east-1'
export const ROOT = join(import.meta.dirname, '../..')
export const NODE_BIN = join(ROOT, 'node_modules/.bin')

/**
 * The variables that a child process may inherit. Everything else of the developer's shell is excluded: a profile, a
 * service endpoint, a proxy or NODE_OPTIONS would change the target of the deployment or the behavior of Lambdas.
 */
const INHERITED = ['HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'SHELL']

/** Returns a minimal environment with the pinned Node of node_modules first on PATH. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { PATH: [NODE_BIN, process.env.PATH].join(delimiter) }
  for (const name of INHERITED) {
    if (process.env[name] !== undefined) env[name] = process.env[name]
  }
  return env
}

/** The access of AWS tools and SDKs to a local engine, as its administrator. */
export interface LocalAws {
  endpoint: string
  region: string
  credentials: { accessKeyId: string; secretAccessKey: string }
}

/** Creates a directory that no other user of the machine can read. */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
}

/**
 * Returns an environment in which AWS tools and SDKs reach only the local engine.
 * @throws Error without a loopback endpoint: without one, the same commands would reach real AWS.
 */
export function localAwsEnvironment({ endpoint, credentials }: LocalAws): NodeJS.ProcessEnv {
  if (!/^http:\/\/127\.0\.0\.1:\d+$/.test(endpoint)) {
    throw new Error(`refusing to run: ${endpoint || '(nothing)'} is not the local AWS endpoint`)
  }
  return {
    ...cleanEnvironment(),
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    // The developer's own profile, endpoint and credentials must not be used.
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  }
}

/** The folder with a file of each run. */
export const RUNS = join(ROOT, '.local')

/** Returns the file of the run on a port, which exists while the service is ready. */
export function fileOfRun(port: number | string, folder = RUNS): string {
  return join(folder, `service-${port}.json`)
}
