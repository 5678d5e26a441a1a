import { delimiter, join } from 'node:path'

export const ACCOUNT = '000000000000'
export const REGION = 'us-east-1'
export const ROOT = join(import.meta.dirname, '../..')
export const NODE_BIN = join(ROOT, 'node_modules/.bin')

/** What a child process may inherit. Everything else of the developer's shell stays out: a profile, a service
 * endpoint, a proxy or NODE_OPTIONS set there would change what the deployment talks to, or how Lambdas run. */
const INHERITED = ['HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'SHELL']

/** A minimal environment with the pinned Node of node_modules first on PATH. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { PATH: [NODE_BIN, process.env.PATH].join(delimiter) }
  for (const name of INHERITED) {
    if (process.env[name] !== undefined) env[name] = process.env[name]
  }
  return env
}

/**
 * The environment in which AWS tools and SDKs talk to the local engine and to nothing else.
 * @throws Error without a loopback endpoint: with none, the same commands would talk to real AWS.
 */
export function localAwsEnvironment(endpoint: string): NodeJS.ProcessEnv {
  if (!/^http:\/\/127\.0\.0\.1:\d+$/.test(endpoint)) {
    throw new Error(`refusing to run: ${endpoint || '(nothing)'} is not the local AWS endpoint`)
  }
  return {
    ...cleanEnvironment(),
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    // No profile, endpoint or credential of the developer's own may leak in.
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  }
}
