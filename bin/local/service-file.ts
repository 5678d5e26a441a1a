import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { StackOutputs } from '#bin/local/deploy.ts'
import { isHealthy } from '#bin/local/engine.ts'
import { REGION, ROOT } from '#bin/local/environment.ts'

/** How tests and tools find the service that runs; there only while it is ready. */
export const SERVICE_FILE = join(ROOT, '.local/service.json')

export interface ServiceFile {
  readonly base_url: string
  readonly aws_endpoint: string
  readonly region: string
  readonly table: string
  readonly event_bus: string
  /** The id of the user pool, and of the app client through which its users log in. */
  readonly user_pool: string
  readonly user_pool_client: string
}

export function describeService(endpoint: string, outputs: StackOutputs): ServiceFile {
  return {
    base_url: `${endpoint}/restapis/${outputs.RestApiId}/${outputs.StageName}/_user_request_`,
    aws_endpoint: endpoint,
    region: REGION,
    table: outputs.TableName,
    event_bus: outputs.EventBusName,
    user_pool: outputs.UserPoolId,
    user_pool_client: outputs.UserPoolClientId,
  }
}

export function writeServiceFile(service: ServiceFile): void {
  mkdirSync(dirname(SERVICE_FILE), { recursive: true })
  writeFileSync(SERVICE_FILE, `${JSON.stringify(service, null, 2)}\n`)
}

/** Removes the file if it is this endpoint's: another start, on another port, may have written it since. */
export function removeServiceFile(endpoint: string): void {
  if (readServiceFile()?.aws_endpoint === endpoint) rmSync(SERVICE_FILE, { force: true })
}

/** Removes what a start that was killed left behind, so that nobody waits on a service that is gone. */
export async function removeStaleServiceFile(): Promise<void> {
  const service = readServiceFile()
  if (service !== undefined && !(await isHealthy(service.aws_endpoint))) rmSync(SERVICE_FILE, { force: true })
}

/** The service that runs; undefined where none does. */
export function readServiceFile(): ServiceFile | undefined {
  try {
    return JSON.parse(readFileSync(SERVICE_FILE, 'utf8'))
  } catch {
    return undefined
  }
}
