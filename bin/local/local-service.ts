import { join } from 'node:path'
import { bootstrap, deploy, type StackOutputs, synthesise } from '#bin/local/deploy.ts'
import { assertPortFree, type Engine, startEngine } from '#bin/local/engine.ts'
import { installEngine, isEngineInstalled } from '#bin/local/engine-install.ts'
import { ROOT } from '#bin/local/environment.ts'
import { StartFailure } from '#bin/local/failure.ts'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'
import { timed } from '#bin/local/progress.ts'

export interface LocalServiceOptions {
  readonly port: number
  /** Path of the settings profile. */
  readonly settings: string
  /** Another CDK app than the service's own, as a command. */
  readonly app?: string
  readonly signal: AbortSignal
}

export interface LocalService {
  readonly engine: Engine
  readonly outputs: StackOutputs
}

/**
 * Brings up the engine with the stack deployed on it, or leaves nothing running.
 * Synthesis needs no AWS, so it runs beside installing, starting and bootstrapping the engine.
 * @throws StartFailure with the reason; `signal.reason` if aborted
 */
export async function startLocalService(options: LocalServiceOptions): Promise<LocalService> {
  const { port } = options
  const { python } = await checkPrerequisites()
  await assertPortFree(port)
  const directory = join(ROOT, '.build/local', String(port))
  const assembly = join(directory, 'cdk.out')

  // One failure ends the other steps: there is nothing left to deploy to, or to deploy.
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  let engine: Engine | undefined
  const engineReady = async (): Promise<Engine> => {
    if (!isEngineInstalled()) await timed('local AWS installed (once)', installEngine(python, signal))
    signal.throwIfAborted()
    engine = await timed('local AWS started', startEngine({ port, logFile: join(directory, 'engine.log') }))
    void engine.died.then((sentence) => failed.abort(new StartFailure(sentence)))
    signal.throwIfAborted()
    await timed('local AWS bootstrapped', bootstrap(engine.endpoint, signal))
    return engine
  }
  const steps = [
    engineReady(),
    timed('stack synthesised', synthesise({ ...options, assembly, signal })),
  ] as const
  try {
    const [ready] = await Promise.all(steps)
    const outputs = await timed('stack deployed', deploy(ready.endpoint, assembly, signal))
    return { engine: ready, outputs }
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(steps)
    await engine?.stop()
    throw error
  }
}
