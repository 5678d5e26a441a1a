import { join } from 'node:path'
import { bootstrap, deploy, type StackOutputs, synthesise } from '#bin/local/deploy.ts'
import { assertPortFree, type Engine, startEngine } from '#bin/local/engine.ts'
import { installEngine, isEngineInstalled } from '#bin/local/engine-install.ts'
import { ROOT } from '#bin/local/environment.ts'
import { StartFailure } from '#bin/local/failure.ts'
import {
  assertProviderPortFree,
  type LocalPaymentProvider,
  localProviderPort,
  startPaymentProvider,
} from '#bin/local/payment-provider.ts'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'
import { timed } from '#bin/local/progress.ts'
import { storeWebhookSecret } from '#bin/local/webhook-secret.ts'

export interface LocalServiceOptions {
  readonly port: number
  /** Path of the settings profile. */
  readonly settings: string
  /** The command of another CDK app than the service's own. */
  readonly app?: string
  readonly signal: AbortSignal
}

export interface LocalService {
  readonly engine: Engine
  /** Absent if the profile has its payment provider elsewhere. */
  readonly paymentProvider: LocalPaymentProvider | undefined
  readonly outputs: StackOutputs
  /** Resolves with one sentence when a part of the service ends without `stop`; never rejects. */
  readonly died: Promise<string>
  /** Ends all parts of the service. Can be called more than once. */
  stop(): Promise<void>
}

/**
 * Starts the engine, deploys the stack on it, and starts the fake payment provider if the profile expects one on this
 * machine. On failure it leaves nothing running. Synthesis needs no AWS, so it runs in parallel with installing,
 * starting and bootstrapping the engine.
 * @throws StartFailure with the reason; `signal.reason` if aborted
 */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const { port } = options
  const { python } = await checkPrerequisites()
  await assertPortFree(port)
  const providerPort = await localProviderPort(options.settings)
  if (providerPort !== undefined) await assertProviderPortFree(providerPort)
  const directory = join(ROOT, '.build/local', String(port))
  const assembly = join(directory, 'cdk.out')

  // One failure ends the other steps: nothing is left to deploy, or to deploy to.
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const running: (Engine | LocalPaymentProvider)[] = []
  const watch = <Part extends Engine | LocalPaymentProvider>(part: Part): Part => {
    running.push(part)
    void part.died.then((sentence) => failed.abort(new StartFailure(sentence)))
    signal.throwIfAborted()
    return part
  }
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((part) => part.stop()))
  }
  const engineReady = async (): Promise<Engine> => {
    if (!isEngineInstalled()) await timed('local AWS installed (once)', installEngine(python, signal))
    signal.throwIfAborted()
    const logFile = join(directory, 'engine.log')
    const engine = watch(await timed('local AWS started', startEngine({ port, logFile })))
    await timed('local AWS bootstrapped', bootstrap(engine.endpoint, signal))
    return engine
  }
  const providerReady = async (): Promise<LocalPaymentProvider | undefined> => {
    if (providerPort === undefined) return undefined
    const logFile = join(directory, 'payment-provider.log')
    const starting = startPaymentProvider({ port: providerPort, logFile })
    return watch(await timed('payment provider started', starting))
  }
  const steps = [
    engineReady(),
    providerReady(),
    timed('stack synthesised', synthesise({ ...options, assembly, signal })),
  ] as const
  try {
    const [engine, paymentProvider] = await Promise.all(steps)
    const outputs = await timed('stack deployed', deploy(engine.endpoint, assembly, signal))
    await storeWebhookSecret(engine, outputs)
    const died = Promise.race(running.map((part) => part.died))
    return { engine, paymentProvider, outputs, died, stop }
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(steps)
    await stop()
    throw error
  }
}
