import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { issueToken, type TokenRequest } from '#bin/commands/service/token.ts'
import { deploy as deployAssembly, synthesize } from '#bin/local/deploy.ts'
import { type LocalAws, localAwsEnvironment } from '#bin/local/environment.ts'
import { directoryOf, startLocalService } from '#bin/local/local-service.ts'
import { awsAccessOf, type ServiceFile } from '#bin/local/service-file.ts'
import { compileCache } from '#test/support/compile-cache.ts'
import { freePort } from '#test/support/free-port.ts'

const root = join(import.meta.dirname, '../..')
const stackName = 'commerce-local'
const profile = join(root, 'shared/settings/profiles/local.json')
const maxRepetitions = 5

export interface Deployment extends ServiceFile {
  /** The access of its administrator. */
  aws: LocalAws
  /** The requests and log lines that the console shows. */
  activityFile: string
  /** The endpoint of the fake payment provider. */
  paymentProvider: string
  /** The profile of the deployment. */
  settings: string
  /** An allowed origin. */
  origin: string
  token(who?: Partial<TokenRequest>): Promise<string>
  /** Sends a request over HTTP. `as` signs a token, null sends none. A 504 is repeated: a busy machine may start
   * functions too slowly. */
  send(path: string, options?: Send): Promise<HttpAnswer>
  /** Places an order of a tenant. */
  placeOrder(tenant: string, key?: string): Promise<HttpAnswer>
  /** The file with the AWS actions that the commands have called: see record-actions.ts. */
  recordedActions: string
  /** Starts a command of the project against this deployment. */
  start(...args: string[]): ChildProcessWithoutNullStreams
  /** Runs a command and returns the text that it prints. */
  text(...args: string[]): Promise<string>
  /** A command of the project against this deployment: what it prints, line by line as JSON. */
  run(...args: string[]): Promise<Record<string, unknown>[]>
  /** The same with a text on its standard input. */
  pipe(input: string, ...args: string[]): Promise<Record<string, unknown>[]>
  /** Deploys another release over the present one. */
  release(release: Release): Promise<void>
  stop(): Promise<void>
}

/** A deployment whose functions have versions and aliases, as on AWS. */
interface Release {
  id: string
  /** Settings instead of those of the other deployments. */
  changes?: Record<string, unknown>
}

export interface Send {
  method?: string
  as?: Partial<TokenRequest> | null
  headers?: Record<string, string>
  body?: unknown
}

export interface HttpAnswer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into bodies of every shape
  json: any
}

/** Deploys the complete stack to a separate local AWS, like `npm start`. */
export async function deploy(first?: Release): Promise<Deployment> {
  const origin = `http://localhost:${await freePort()}`
  const settings = await impatientProfile(origin)
  const port = await freePort()
  const { signal } = new AbortController()
  const local = await startLocalService({
    port,
    settings: first ? await changed(settings, first) : settings,
    release: first?.id,
    signal,
  })
  const { service } = local
  const aws = awsAccessOf(service)
  const tokens = new Map<string, Promise<string>>()
  const token = (who: Partial<TokenRequest> = {}) => {
    const request = { tenant: 'acme', role: 'Editor', sub: 'u1', ...who }
    const name = JSON.stringify(request)
    const known = tokens.get(name) ?? issueToken({ expiresInSeconds: 86_400, ...request })
    tokens.set(name, known)
    return known
  }
  const recordedActions = join(dirname(settings), 'actions.jsonl')
  const recorder = join(import.meta.dirname, 'record-actions.ts')
  const start = (...args: string[]) =>
    spawn(
      'node',
      [
        '--import',
        pathToFileURL(recorder).href,
        join(root, 'bin/commerce.ts'),
        ...args,
        '--stack',
        stackName,
      ],
      { env: { ...localAwsEnvironment(aws), ...compileCache, RECORD_ACTIONS: recordedActions } },
    )
  const printed = async (input: string, args: string[], left = maxRepetitions): Promise<string> => {
    const running = start(...args)
    running.stdin.end(input)
    const closed = once(running, 'close')
    const [output, errors, [code]] = await Promise.all([text(running.stdout), text(running.stderr), closed])
    // A busy machine did not answer it in time, as in `send`.
    if (code !== 0 && left > 0 && /\b504\b/.test(errors)) return printed(input, args, left - 1)
    if (code !== 0) throw new Error(`commerce ${args.join(' ')} ended with code ${code}: ${errors}`)
    return output.trim()
  }
  const pipe: Deployment['pipe'] = async (input, ...args) => {
    const lines = (await printed(input, args)).split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line))
  }
  const deployment: Deployment = {
    ...service,
    aws,
    activityFile: local.activityFile,
    recordedActions,
    paymentProvider: service.provider_url ?? '',
    settings,
    origin,
    token,
    async release(next) {
      const assembly = join(directoryOf(port), next.id)
      await synthesize({ settings: await changed(settings, next), release: next.id, assembly, signal })
      await deployAssembly(aws, assembly, signal)
    },
    async stop() {
      await local.stop()
      await rm(dirname(settings), { recursive: true, force: true })
    },
    start,
    text: (...args) => printed('', args),
    run: (...args) => pipe('', ...args),
    pipe,
    async send(path, { method = 'GET', as = {}, headers = {}, body } = {}) {
      const request = {
        method,
        headers: {
          ...(as && { Authorization: `Bearer ${await token(as)}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        redirect: 'manual' as const,
        ...(body !== undefined && {
          body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
        }),
      }
      for (let left = maxRepetitions; ; left--) {
        const answer = await fetch(`${service.base_url}${path}`, request)
        const received = await answer.text()
        const { status } = answer
        if (status === 500) console.error(await faultsOf(answer.headers, local.activityFile))
        if (status !== 504 || left === 0) {
          return { status, headers: answer.headers, text: received, json: parsed(received) }
        }
      }
    },
    placeOrder: (tenant, key = crypto.randomUUID()) =>
      deployment.send('/v1/orders', {
        method: 'POST',
        as: { tenant },
        headers: { 'Idempotency-Key': key },
        body: { cart_id: 'c', amount_minor: 100, currency: 'EUR' },
      }),
  }
  return deployment
}

/** The shipped profile with a small limit for exports in a response, few attempts for webhooks, the longest time
 * for a request, and a separate payment provider. */
async function impatientProfile(origin: string): Promise<string> {
  const values = JSON.parse(await readFile(profile, 'utf8'))
  // Members that it leaves out are those of its base.
  const change = (key: string, members: object) =>
    Object.assign(values, { [key]: { ...values[key], ...members } })
  change('codes.export', { inlineMaxBytes: 8192 })
  values['webhooks.maxAttempts'] = 2
  values['cors.allowedOrigins'].push(origin)
  change('requests.timeoutHeader', { maxMilliseconds: 26_000 })
  change('refunds.reconcile', { minAgeMinutes: 0 })
  change('refunds.provider', { endpoint: `http://127.0.0.1:${await freePort()}` })
  const file = join(await mkdtemp(join(tmpdir(), 'commerce-profile-')), 'profile.json')
  await writeFile(file, JSON.stringify(values))
  return file
}

/** Writes the profile of a release beside that of all. */
async function changed(settings: string, { id, changes }: Release): Promise<string> {
  const file = join(dirname(settings), `${id}.json`)
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(settings, 'utf8')), ...changes }))
  return file
}

/** Returns the faults that a function has logged for a response: a 500 does not say what is wrong. */
async function faultsOf(headers: Headers, activityFile: string): Promise<string> {
  const id = headers.get('x-correlation-id')
  const entries = (await readFile(activityFile, 'utf8')).split('\n').map(parsed)
  const records = entries.map((entry) => parsed(entry?.line)).filter((line) => line?.correlation_id === id)
  const faults = records.flatMap(({ operation, fault }) => (fault ? [{ operation, fault }] : []))
  return JSON.stringify(faults, null, 2)
}

// biome-ignore lint/suspicious/noExplicitAny: responses and log lines have any shape
function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
