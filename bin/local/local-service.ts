import { join } from 'node:path'
import { storeSigningSecret } from '../commands/webhooks/webhook-secret.ts'
import { addressesIn, profileIn } from './addresses.ts'
import { bootstrap, deploy, storeProviderKey, storeWebhookKey, synthesize } from './deploy.ts'
import { activityFile, assertPortFree, type Engine, startEngine } from './engine.ts'
import { installEngine, isEngineInstalled } from './engine-install.ts'
import { ROOT } from './environment.ts'
import { assertProviderPortFree, createWebhookEndpoint, startPaymentProvider } from './payment-provider.ts'
import { checkPrerequisites } from './prerequisites.ts'
import { type Server, StartFailure } from './process.ts'
import { describeService, type ServiceFile } from './service-file.ts'

interface LocalServiceOptions {
  readonly port: number
  /** Path of the settings profile. */
  readonly settings: string
  /** See `synthesize`. */
  readonly release?: string | undefined
  readonly signal: AbortSignal
}

export interface LocalService {
  readonly service: ServiceFile
  /** See `activityFile` of the engine. */
  readonly activityFile: string
  /** Resolves with one sentence when a part of the service ends without `stop`; never rejects. */
  readonly died: Promise<string>
  /** Ends all parts of the service. Can be called more than once. */
  stop(): Promise<void>
}

/** Returns the directory of a run's logs and templates. */
export function directoryOf(port: number): string {
  return join(ROOT, '.build/local', String(port))
}

/**
 * Starts the engine, deploys the stack on it, and starts the fake payment provider if the profile expects one on this
 * machine. On failure it leaves nothing running. Synthesis needs no AWS, so it runs in parallel with installing,
 * starting and bootstrapping the engine.
 * @throws StartFailure with the reason; `signal.reason` if aborted
 */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const { port } = options
  await assertNoRestoredTable(options.settings)
  const { python } = await checkPrerequisites()
  await assertPortFree(port)
  const { providerPort, origins } = await addressesIn(options.settings)
  if (providerPort !== undefined) await assertProviderPortFree(providerPort)
  const directory = directoryOf(port)
  const [assembly, logFile] = [join(directory, 'cdk.out'), join(directory, 'payment-provider.log')]

  // One failure ends the other steps: nothing is left to deploy, or to deploy to.
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const running: Server[] = []
  const watch = (server: Server): Server => {
    running.push(server)
    void server.died.then((sentence) => failed.abort(new StartFailure(sentence)))
    signal.throwIfAborted()
    return server
  }
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()))
  }
  const engineReady = async (): Promise<Engine> => {
    await engineInstalled(python, signal)
    const engine = await timed('local AWS started', startEngine({ port, directory, origins }))
    watch(engine)
    await timed('local AWS bootstrapped', bootstrap(engine.aws, signal))
    return engine
  }
  const providerReady = async (): Promise<Server | undefined> => {
    if (providerPort === undefined) return undefined
    const starting = startPaymentProvider({ port: providerPort, logFile })
    return watch(await timed('payment provider started', starting))
  }
  const synthesis = timed('stack synthesized', synthesize({ ...options, assembly, signal }))
  const steps = [engineReady(), providerReady(), synthesis] as const
  try {
    const [{ aws }, provider] = await Promise.all(steps)
    const outputs = await timed('stack deployed', deploy(aws, assembly, signal))
    const webhookKey = await storeWebhookKey(aws, outputs)
    const service = describeService({ aws, outputs, webhookKey, providerUrl: provider?.endpoint })
    if (provider) {
      await storeProviderKey(aws, outputs)
      const url = `${service.base_url}/v1/webhooks/stripe`
      const secret = await createWebhookEndpoint(provider.endpoint, url)
      await storeSigningSecret({ outputs, access: aws }, secret, 'stripe')
    }
    const died = Promise.race(running.map((server) => server.died))
    return { service, activityFile: activityFile(directory), died, stop }
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(steps)
    await stop()
    throw error
  }
}

async function engineInstalled(python: string, signal: AbortSignal): Promise<void> {
  if (!isEngineInstalled()) await timed('local AWS installed (once)', installEngine(python, signal))
  signal.throwIfAborted()
}

/** The functions would answer 500. @throws StartFailure if the profile adopts a table */
async function assertNoRestoredTable(settings: string): Promise<void> {
  const { 'storage.restoredTable': restored } = await profileIn(settings)
  if (!restored) return
  throw new StartFailure(
    `storage.restoredTable names the table ${restored.tableName}, which does not exist: the local AWS starts without tables. Set it to null.`,
  )
}

/** Runs one step and prints its duration when it ends. Steps may overlap. */
async function timed<T>(label: string, work: Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await work
  process.stdout.write(`  ${label.padEnd(34)} ${elapsedSeconds(started).padStart(5)} s\n`)
  return result
}

/** Returns the seconds since a `performance.now()`, with one decimal. */
export function elapsedSeconds(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1)
}
