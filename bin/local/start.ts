/** `npm start`: runs the service on this machine, deployed to a local AWS; see the README. */
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { loadSettings } from '../build/settings-file.ts'
import { issueToken } from '../commands/service/token.ts'
import { localSource } from '../console/local.ts'
import { type Console, startConsole } from '../console/server.ts'
import { referenceSite, type ServedSite, serveSite } from '../describe/reference/site.ts'
import { addressesIn, withFreePorts } from './addresses.ts'
import { directoryOf, elapsedSeconds, type LocalService, startLocalService } from './local-service.ts'
import { StartFailure } from './process.ts'
import {
  removeServiceFile,
  removeStaleServiceFiles,
  type ServiceFile,
  writeServiceFile,
} from './service-file.ts'

const DEFAULT_PORT = 4566
/** Long enough to try the service; `npx commerce env` prints more tokens. */
const TOKEN_SECONDS = 8 * 3600
const TOKEN_SCOPE = 'codes:read codes:write'

/**
 * Runs the service until Ctrl-C or the end of npm.
 * @param port of the local AWS. The payment provider and the pages take the next ports, or else those of the profile
 * @param file the path of another profile than the local one
 */
export async function start({
  port,
  settings: file,
}: {
  port?: number | undefined
  settings?: string | undefined
}): Promise<void> {
  const settings = resolve(file ?? 'shared/settings/profiles/local.json')
  if (!existsSync(settings)) throw new Error(`there is no settings file ${file}`)
  const stopped = stopSignal()
  stopped.addEventListener('abort', () => console.log('\nStopping …'), { once: true })
  try {
    await serve(port, settings, stopped)
  } catch (error) {
    if (stopped.aborted && error === stopped.reason) return
    process.exitCode = 1
    if (!(error instanceof StartFailure)) console.error(error)
    else console.error([error.output, error.message].filter(Boolean).join('\n\n'))
  }
}

/** Returns a signal that Ctrl-C aborts, and the end of npm. */
function stopSignal(): AbortSignal {
  const stopped = new AbortController()
  // A second Ctrl-C must not interrupt the cleanup, so the handler stays.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stopped.abort(new Error(signal)))
  // A closed terminal or pipe must not interrupt the cleanup either.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  // npm passes SIGTERM only to its shell, which ends alone, and a killed npm passes nothing on.
  const parent = process.ppid
  const watchParent = () => {
    if (process.ppid !== parent) stopped.abort(new Error('npm ended'))
  }
  if (process.env.npm_lifecycle_event !== undefined) setInterval(watchParent, 500).unref()
  return stopped.signal
}

/** Stays in the foreground until it is stopped, which is success, or until a part of the service ends unexpectedly. */
async function serve(asked: number | undefined, profile: string, stopped: AbortSignal): Promise<void> {
  const started = performance.now()
  const port = asked ?? DEFAULT_PORT
  await removeStaleServiceFiles()
  console.log(`Starting the service on port ${port} with ${relative('.', profile)}`)
  const ports = { port, moved: asked !== undefined, directory: directoryOf(port) }
  const settings = await withFreePorts(profile, ports)
  const local = await startLocalService({ port, settings, signal: stopped })
  const source = localSource(local.service, local.activityFile)
  let reference: ServedSite | undefined
  try {
    const token = await issueToken(
      {
        ...{ tenant: 'acme', role: 'Editor', sub: 'u1', scope: TOKEN_SCOPE },
        expiresInSeconds: TOKEN_SECONDS,
      },
      settings,
    ).catch((thrown: Error) => thrown)
    reference = await startPages(local.service, settings, token, startConsole(source))
    // Before it says that it is ready: who waits for that runs a command at once.
    writeServiceFile(local.service)
    printWelcome(local.service, { token, seconds: elapsedSeconds(started), reference: reference?.url })
    await untilStopped(local, stopped)
  } finally {
    removeServiceFile(local.service.aws_endpoint)
    await reference?.stop()
    source.stop()
    await local.stop()
  }
}

async function untilStopped({ died }: LocalService, stopped: AbortSignal): Promise<void> {
  const interrupted = new Promise<undefined>((resolve) => {
    if (stopped.aborted) resolve(undefined)
    stopped.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  const sentence = await Promise.race([interrupted, died])
  if (sentence !== undefined) throw new StartFailure(sentence)
}

/**
 * Serves the pages for API consumers and the console at the first origin on this machine from which the profile lets browsers call.
 * @returns undefined, after printing why, if there is no such origin or its port is in use; the service runs anyway
 */
async function startPages(
  { base_url }: ServiceFile,
  settingsFile: string,
  token: string | Error,
  shown: Console,
): Promise<ServedSite | undefined> {
  const { pages: origin } = await addressesIn(settingsFile)
  if (origin === undefined) return undefined
  const settings = await loadSettings(settingsFile)
  const site = await referenceSite(settings, { base_url, ...(typeof token === 'string' && { token }) })
  return serveSite(await shown.pages(site), origin, base_url, shown.answer).catch(
    (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EADDRINUSE') throw thrown
      console.log(`The API reference and the console are not served: another program uses ${origin}.`)
      return undefined
    },
  )
}

/** Prints addresses, the token and three requests at the end of the start, as one block to paste into a shell. */
function printWelcome(
  { base_url, provider_url }: ServiceFile,
  { token, seconds, reference }: { token: string | Error; seconds: string; reference: string | undefined },
): void {
  const authorization = '-H "Authorization: Bearer $TOKEN"'
  const order = '{"cart_id":"cart-1","amount_minor":1999,"currency":"EUR"}'
  const file = '/tmp/order.json'
  const lines = [
    reference && `API reference with all operations, to try them: ${reference}`,
    reference &&
      `Console with requests, events, mail (one-time codes), refunds and queues: ${reference}console.html`,
    provider_url && `Refunds go to a fake payment provider: ${provider_url}/refunds lists them.`,
    `The token lasts ${TOKEN_SECONDS / 3600} hours and has the scopes ${TOKEN_SCOPE}.`,
    `Ready in ${seconds} s. Ctrl-C stops the service. To create, read and list orders, paste into another terminal:`,
    '',
    `BASE_URL=${base_url}`,
    `TOKEN=${typeof token === 'string' ? token : `# none: ${token.message}`}`,
    `curl -s -w '\\n' "$BASE_URL/v1/orders" ${authorization} -H "Content-Type: application/json" -H "Idempotency-Key: first-order" -d '${order}' | tee ${file}`,
    `curl -s -w '\\n' "$BASE_URL/v1/orders/$(sed -E 's/.*"id":"([^"]+)".*/\\1/' ${file})" ${authorization}`,
    `curl -s -w '\\n' "$BASE_URL/v1/orders?page_size=10" ${authorization}`,
  ]
  console.log(`\n${lines.filter((line) => line !== undefined).join('\n')}\n`)
}
