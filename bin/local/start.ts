/** `npm start`: runs the service on this machine, deployed to a local AWS; see the README. */
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { answerHelp } from '#bin/command.ts'
import { StartFailure } from '#bin/local/failure.ts'
import { type LocalService, startLocalService } from '#bin/local/local-service.ts'
import { secondsSince } from '#bin/local/progress.ts'
import { startReference } from '#bin/local/reference.ts'
import {
  describeService,
  removeServiceFile,
  removeStaleServiceFile,
  type ServiceFile,
  writeServiceFile,
} from '#bin/local/service-file.ts'
import { printWelcome, tokenToTry } from '#bin/local/welcome.ts'
import type { ServedSite } from '#bin/reference/serve.ts'

const DEFAULT_PORT = '4566'
const DEFAULT_SETTINGS = 'shared/settings/profiles/local.json'
const USAGE = 'usage: npm start -- [--port N] [--settings FILE]'

answerHelp(USAGE)

const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // A second Ctrl-C must not interrupt the cleanup, so the handler stays.
  process.on(signal, () => stopped.abort(new Error(signal)))
}

// A closed terminal or pipe must not interrupt the cleanup either.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const watching = watchParent()
process.exitCode = await main().catch(report)
clearInterval(watching)

async function main(): Promise<number> {
  const started = performance.now()
  const { port, settings } = readArguments()
  await removeStaleServiceFile()
  console.log(`Starting the service on port ${port} with ${relative('.', settings)}`)
  const local = await startLocalService({ port, settings, signal: stopped.signal })
  let service: ServiceFile | undefined
  let reference: ServedSite | undefined
  try {
    service = await describeService(local.engine.endpoint, local.outputs, local.paymentProvider?.endpoint)
    const token = await tokenToTry(settings)
    reference = await startReference(service, settings, 'token' in token ? token.token : undefined)
    printWelcome({
      service,
      seconds: secondsSince(started).trim(),
      token,
      paymentProvider: local.paymentProvider?.endpoint,
      reference: reference?.url,
    })
    return await serve(local, service)
  } finally {
    removeServiceFile(local.engine.endpoint)
    await reference?.stop()
    await local.stop()
  }
}

/** Stays in the foreground until Ctrl-C, which is success, or until a part of the service ends unexpectedly. */
async function serve({ died }: LocalService, service: ServiceFile): Promise<number> {
  writeServiceFile(service)
  const interrupted = new Promise<undefined>((done) => {
    if (stopped.signal.aborted) done(undefined)
    stopped.signal.addEventListener('abort', () => done(undefined), { once: true })
  })
  const sentence = await Promise.race([interrupted, died])
  if (sentence !== undefined) throw new StartFailure(sentence)
  console.log('\nStopping …')
  return 0
}

/**
 * npm passes SIGTERM only to its shell, which ends alone, and a killed npm passes nothing on. In both cases this
 * process ends.
 */
function watchParent(): NodeJS.Timeout {
  const parent = process.ppid
  const ranByNpm = process.env.npm_lifecycle_event !== undefined
  const check = (): void => {
    if (ranByNpm && process.ppid !== parent) stopped.abort(new Error('npm ended'))
  }
  return setInterval(check, 500)
}

function readArguments(): { port: number; settings: string } {
  const options = {
    port: { type: 'string', default: DEFAULT_PORT },
    settings: { type: 'string', default: DEFAULT_SETTINGS },
  } as const
  let values: { port: string; settings: string }
  try {
    values = parseArgs({ options }).values
  } catch (error) {
    throw new StartFailure(`${(error as Error).message}\n${USAGE}`)
  }
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 1024 || port > 65_535)
    throw new StartFailure('--port takes a number from 1024 to 65535.')
  if (!existsSync(values.settings)) throw new StartFailure(`There is no settings file ${values.settings}.`)
  return { port, settings: resolve(values.settings) }
}

function report(error: unknown): number {
  if (stopped.signal.aborted && error === stopped.signal.reason) return 0
  if (!(error instanceof StartFailure)) console.error(error)
  else console.error([error.output, error.message].filter(Boolean).join('\n\n'))
  return 1
}
