import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb'
import { type Answer, type Failure, failureAnswer } from './dynamodb-failures.ts'
import { failSome, type StatementErrors } from './statement-errors.ts'

/** The fault of one call. */
export type Fault =
  /** The call takes effect, and the caller's connection is reset before the response. */
  | 'lose-answer'
  /** The connection is reset, and the call never takes effect. */
  | 'lose-request'
  /** The call takes effect, and its response is held until release: the time to kill a process. */
  | 'hold'
  /** The call is held until release, and never takes effect if its caller is gone by then. */
  | 'hold-request'
  | Failure
  /** Some statements of a batch fail, each with its own code. The others take effect, and the status is 200. */
  | { readonly statements: StatementErrors }
  /** The call takes effect late, even after its caller gave up. */
  | { readonly delayMs: number }
  | { readonly until: Promise<unknown> }

/** A call through the proxy; `index` counts all calls from 0. */
export interface Call {
  readonly operation: string
  readonly index: number
  readonly body: unknown
}

export interface RecordedCall extends Call {
  readonly fault?: Fault
  /** DynamoDB's status, whether or not the caller received it; absent if the call did not reach DynamoDB. */
  readonly status?: number
  /** One entry for each table, if the call requested ReturnConsumedCapacity. */
  readonly consumed: readonly ConsumedCapacity[]
}

export interface Plan {
  readonly when: (call: Call) => boolean
  /** The number of affected calls; 1 if absent, Infinity for all. */
  readonly times?: number
  readonly fault: Fault
}

export interface Injection {
  /** The number of calls affected so far. */
  readonly hits: number
  /** Resolves with the first affected call once the fault happened (for 'hold': after DynamoDB responded, for 'hold-request': before it is called). */
  readonly struck: Promise<RecordedCall>
  /** Releases all held and future calls. */
  readonly release: () => void
  /** Drops the held requests: they never take effect, even if the death of their caller is noticed later. */
  readonly drop: () => void
}

export interface DynamodbProxy {
  readonly endpoint: string
  readonly calls: readonly RecordedCall[]
  readonly inject: (plan: Plan) => Injection
  /** Clears all calls and plans. Held responses continue, and held requests are dropped. */
  readonly reset: () => void
  readonly stop: () => Promise<void>
}

interface Active {
  readonly plan: Plan
  hits: number
  readonly struck: PromiseWithResolvers<RecordedCall>
  /** Continues, or is dropped if it was not forwarded yet. */
  readonly released: PromiseWithResolvers<'on' | 'dropped'>
}

type Recording = { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] }
/** @param changed the body to send instead of the received one */
type Forward = (changed?: Buffer) => Promise<Answer>

/** Starts a proxy for the DynamoDB at `target` on a loopback port. Without a plan it forwards everything unchanged. */
export async function startDynamodbProxy(target: string): Promise<DynamodbProxy> {
  const agent = new Agent({ keepAlive: true })
  const calls: Recording[] = []
  let active: Active[] = []

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const bytes = await bytesOf(incoming)
    const call: Recording = {
      operation: String(incoming.headers['x-amz-target'] ?? '').replace(/^.*\./, ''),
      index: calls.length,
      body: parsed(bytes),
      consumed: [],
    }
    calls.push(call)
    const forward: Forward = async (changed = bytes) => {
      const answer = await send(new URL(incoming.url ?? '/', target), agent, incoming, changed)
      call.status = answer.status
      call.consumed = consumedIn(answer)
      return answer
    }
    const injection = active.find(({ plan, hits }) => hits < (plan.times ?? 1) && plan.when(call))
    const answer = injection
      ? await strike(injection, call, forward, () => incoming.socket.destroyed)
      : await forward()
    if (answer === 'lost') incoming.socket.destroy()
    else outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const server = createServer((incoming, outgoing) => {
    // A plan that throws is a mistake in a test. The caller gets an error that no SDK retries.
    handle(incoming, outgoing).catch((error) => outgoing.writeHead(400).end(mistake(error)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  const reset = () => {
    // A request of a killed process must not take effect late. Its closed socket may be noticed only later.
    for (const { released } of active) released.resolve('dropped')
    active = []
    calls.length = 0
  }

  return {
    endpoint: endpointOf(server.address()),
    calls,
    inject(plan) {
      const entry: Active = {
        plan,
        hits: 0,
        struck: Promise.withResolvers(),
        released: Promise.withResolvers(),
      }
      active.push(entry)
      return {
        get hits() {
          return entry.hits
        },
        struck: entry.struck.promise,
        release: () => entry.released.resolve('on'),
        drop: () => entry.released.resolve('dropped'),
      }
    },
    reset,
    async stop() {
      reset()
      server.close()
      server.closeAllConnections()
      agent.destroy()
      await once(server, 'close')
    },
  }
}

async function strike(
  injection: Active,
  call: Recording,
  forward: Forward,
  callerIsGone: () => boolean,
): Promise<Answer | 'lost'> {
  injection.hits += 1
  call.fault = injection.plan.fault
  if (injection.plan.fault === 'hold-request') {
    injection.struck.resolve(call)
    const fate = await injection.released.promise
    return fate === 'dropped' || callerIsGone() ? 'lost' : forward()
  }
  const answer = await happen(injection.plan.fault, call, forward)
  injection.struck.resolve(call)
  if (injection.plan.fault === 'hold') await injection.released.promise
  return answer
}

async function happen(
  fault: Exclude<Fault, 'hold-request'>,
  call: Call,
  forward: Forward,
): Promise<Answer | 'lost'> {
  if (typeof fault === 'object') {
    if ('statements' in fault) return failSome(call.body, fault.statements, forward)
    await ('until' in fault ? fault.until : sleep(fault.delayMs))
    return forward()
  }
  if (fault === 'lose-request') return 'lost'
  if (fault === 'hold') return forward()
  if (fault === 'lose-answer') {
    await forward()
    return 'lost'
  }
  return failureAnswer(fault, call.operation, call.body)
}

/** Hop-by-hop headers. */
const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length'])

async function send(url: URL, agent: Agent, incoming: IncomingMessage, bytes: Buffer): Promise<Answer> {
  const headers = { ...withoutConnection(incoming.headers), 'content-length': String(bytes.length) }
  const sent = request(url, { agent, headers, ...(incoming.method && { method: incoming.method }) }).end(
    bytes,
  )
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  const body = await bytesOf(reply)
  return { status: reply.statusCode ?? 502, headers: withoutConnection(reply.headers), body }
}

const withoutConnection = (headers: NodeJS.Dict<string | string[]>): NodeJS.Dict<string | string[]> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name)))

const bytesOf = async (message: IncomingMessage): Promise<Buffer> => Buffer.concat(await message.toArray())

function consumedIn({ body }: Answer): readonly ConsumedCapacity[] {
  const reply = parsed(body)
  if (typeof reply !== 'object' || reply === null || !('ConsumedCapacity' in reply)) return []
  return [reply.ConsumedCapacity].flat() as ConsumedCapacity[]
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

const mistake = (error: unknown) =>
  JSON.stringify({
    __type: 'com.amazonaws.dynamodb.v20120810#ValidationException',
    message: `Proxy: ${error}`,
  })

function endpointOf(address: ReturnType<ReturnType<typeof createServer>['address']>): string {
  if (address === null || typeof address === 'string') throw new Error('No TCP port was given.')
  return `http://127.0.0.1:${address.port}`
}
