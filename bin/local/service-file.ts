import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { StackOutputs } from './deploy.ts'
import { isHealthy } from './engine.ts'
import { REGION, ROOT } from './environment.ts'

/** The file in which tests and tools find the running service. It exists only while the service is ready. */
const SERVICE_FILE = join(ROOT, '.local/service.json')

export interface ServiceFile {
  readonly base_url: string
  readonly aws_endpoint: string
  readonly region: string
  readonly table: string
  readonly event_bus: string
  /** The local payment provider; absent if the profile names one elsewhere. */
  readonly provider_url?: string
  /** The key that signed webhooks when the service started, for senders on this machine. */
  readonly webhook_secret: string
  /** All outputs of the stack, for the commands. */
  readonly outputs: Readonly<Record<string, string>>
}

/** The parts of a running service. */
export interface ServiceParts {
  endpoint: string
  outputs: StackOutputs
  webhookKey: string
  /** The address of the local payment provider, if there is one. */
  providerUrl: string | undefined
}

export function describeService({ endpoint, outputs, webhookKey, providerUrl }: ServiceParts): ServiceFile {
  const baseUrl = `${endpoint}/restapis/${outputs.RestApiId}/${outputs.StageName}/_user_request_`
  return {
    base_url: baseUrl,
    aws_endpoint: endpoint,
    region: REGION,
    table: outputs.TableName,
    event_bus: outputs.EventBusName,
    ...(providerUrl !== undefined && { provider_url: providerUrl }),
    webhook_secret: webhookKey,
    // The engine serves the API at another address than the output of the stack.
    outputs: { ...outputs, BaseUrl: baseUrl },
  }
}

export function writeServiceFile(service: ServiceFile): void {
  mkdirSync(dirname(SERVICE_FILE), { recursive: true })
  writeFileSync(SERVICE_FILE, `${JSON.stringify(service, null, 2)}\n`, { mode: 0o600 })
}

/** Removes the file if it describes this endpoint: a start on another port may have replaced it. */
export function removeServiceFile(endpoint: string): void {
  if (readServiceFile()?.aws_endpoint === endpoint) rmSync(SERVICE_FILE, { force: true })
}

/** Removes the file of a start that was killed, so nobody waits for a service that is gone. */
export async function removeStaleServiceFile(): Promise<void> {
  const service = readServiceFile()
  if (service !== undefined && !(await isHealthy(service.aws_endpoint))) rmSync(SERVICE_FILE, { force: true })
}

/** Returns the running service. @param option names another service on the command line */
export function runningService(option: string): ServiceFile {
  const service = readServiceFile()
  if (service) return service
  throw new Error(`the local service is not running: start it with npm start, or use ${option}`)
}

function readServiceFile(): ServiceFile | undefined {
  try {
    return JSON.parse(readFileSync(SERVICE_FILE, 'utf8'))
  } catch {
    return undefined
  }
}
