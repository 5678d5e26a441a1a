import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StackOutputs } from './deploy.ts'
import { isHealthy } from './engine.ts'
import { fileOfRun, type LocalAws, makePrivateDirectory, RUNS } from './environment.ts'

/** The file in which tests and tools find the run that started last. It exists only while the service is ready. */
const CURRENT = 'service.json'

export interface ServiceFile {
  readonly base_url: string
  readonly aws_endpoint: string
  readonly region: string
  /** The keys of the administrator of the local AWS, new at each start. */
  readonly access_key_id: string
  readonly secret_access_key: string
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
interface ServiceParts {
  aws: LocalAws
  outputs: StackOutputs
  webhookKey: string
  /** The address of the local payment provider, if there is one. */
  providerUrl: string | undefined
}

export function describeService({ aws, outputs, webhookKey, providerUrl }: ServiceParts): ServiceFile {
  const { endpoint, region, credentials } = aws
  const baseUrl = `${endpoint}/restapis/${outputs.RestApiId}/${outputs.StageName}/_user_request_`
  return {
    base_url: baseUrl,
    aws_endpoint: endpoint,
    region,
    access_key_id: credentials.accessKeyId,
    secret_access_key: credentials.secretAccessKey,
    table: outputs.TableName,
    event_bus: outputs.EventBusName,
    ...(providerUrl !== undefined && { provider_url: providerUrl }),
    webhook_secret: webhookKey,
    // The engine serves the API at another address than the output of the stack.
    outputs: { ...outputs, BaseUrl: baseUrl },
  }
}

/** Returns the access of AWS clients to the local run. */
export function awsAccessOf(service: Pick<ServiceFile, AccessField>): LocalAws {
  const { aws_endpoint: endpoint, region, access_key_id, secret_access_key } = service
  return { endpoint, region, credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key } }
}
type AccessField = 'aws_endpoint' | 'region' | 'access_key_id' | 'secret_access_key'

/** @throws Error if the local run has no payment provider */
export function providerUrlOf({ provider_url }: Pick<ServiceFile, 'provider_url'>): string {
  if (provider_url !== undefined) return provider_url
  throw new Error('the local run has no payment provider: its profile names one elsewhere')
}

/** Writes the file of the run, and makes this run the one that commands use. */
export function writeServiceFile(service: ServiceFile, folder = RUNS): void {
  makePrivateDirectory(folder)
  for (const file of [fileOfRun(new URL(service.aws_endpoint).port, folder), join(folder, CURRENT)])
    write(file, service)
}

/** Removes the file of a run. If commands use that run, they use the one that started before it instead. */
export function removeServiceFile(endpoint: string, folder = RUNS): void {
  const current = join(folder, CURRENT)
  rmSync(fileOfRun(new URL(endpoint).port, folder), { force: true })
  if (read(current)?.aws_endpoint !== endpoint) return
  const [latest] = filesOfRuns(folder).toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  const service = latest === undefined ? undefined : read(latest)
  if (service) write(current, service)
  else rmSync(current, { force: true })
}

/** Removes the files of starts that were killed, so nobody waits for a service that is gone. */
export async function removeStaleServiceFiles(): Promise<void> {
  for (const file of [...filesOfRuns(RUNS), join(RUNS, CURRENT)]) {
    const service = read(file)
    // One that is busy answers late; where none is left, the connection is refused at once.
    if (service !== undefined && !(await isHealthy(awsAccessOf(service), 30_000)))
      removeServiceFile(service.aws_endpoint)
  }
}

/** Returns the running service. @param hint what to do if there is none */
export function runningService(hint: string, folder = RUNS): ServiceFile {
  const service = read(join(folder, CURRENT))
  if (service) return service
  throw new Error(`the local service is not running: start it with npm start${hint}`)
}

/**
 * Checks that a run accepts connections. Its file remains if the run was killed.
 * @throws Error if nothing listens at its address
 */
export async function assertRunning(
  { aws_endpoint: endpoint }: Pick<ServiceFile, 'aws_endpoint'>,
  hint: string,
): Promise<void> {
  // Any response is one of the run, which answers strangers with 403.
  await fetch(endpoint, { method: 'HEAD' }).catch((cause) => {
    throw new Error(`the local run has ended: start it with npm start${hint}`, { cause })
  })
}

function filesOfRuns(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => /^service-\d+\.json$/.test(name))
  return names.map((name) => join(folder, name))
}

function write(file: string, service: ServiceFile): void {
  // It is never visible to others, not even while an older file with other permissions is replaced.
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify(service, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}

function read(file: string): ServiceFile | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
