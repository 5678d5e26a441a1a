import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb'
import { type Answer, type Failure, failureAnswer } from './dynamodb-failures.ts'
import { failSome, type StatementErrors } from './statement-errors.ts'

/** What can go wrong with one call. */
export type Fault =
  /** The call takes effect and the caller's connection is cut before the answer. */
  | 'lose-answer'
  /** The connection is cut and the call never takes effect. */
  | 'lose-request'
  /** The call takes effect and its answer waits until it is released: the moment to kill a process. */
  | 'hold'
  /** The call waits until it is released, and never takes effect where its caller is gone by then. */
  | 'hold-request'
  | Failure
  /** Some statements of a batch fail, each by a code of its own, and the others take effect: the answer is 200. */
  | { readonly statements: StatementErrors }
  /** The call takes effect late, also where its caller has given up by then. */
  | { readonly delayMs: number }

/** A call that came through the proxy; `index` counts all calls from 0. */
export interface Call {
  readonly operation: string
  readonly index: number
  readonly body: unknown
}

export interface RecordedCall extends Call {
  readonly fault?: Fault
  /** The status that DynamoDB gave, whether or not the caller saw it; absent where the call never got there. */
  readonly status?: number
  /** One entry a table, where the call asked for ReturnConsumedCapacity. */
  readonly consumed: readonly ConsumedCapacity[]
}

export interface Plan {
  readonly when: (call: Call) => boolean
  /** How many calls it strikes; once where absent, Infinity for all. */
  readonly times?: number
  readonly fault: Fault
}

export interface Injection {
  /** How many calls it has struck. */
  readonly hits: number
  /** Resolves with the first call it struck, once the fault has happened (for 'hold': once DynamoDB answered, for 'hold-request': before it is asked). */
  readonly struck: Promise<RecordedCall>
  /** Lets go of what is held, now and from now on. */
  readonly release: () => void
  /** Drops the requests that are held: they never take effect, even if the death of their caller shows only later. */
  readonly drop: () => void
}

export interface DynamodbProxy {
  readonly endpoint: string
  readonly calls: readonly RecordedCall[]
  readonly inject: (plan: Plan) => Injection
  /** Forgets all calls and plans; answers that are held go on, and requests that are held are dropped. */
  readonly reset: () => void
  readonly stop: () => Promise<void>
}

interface Active {
  readonly plan: Plan
  hits: number
  readonly struck: PromiseWithResolvers<RecordedCall>
  /** To go on, or to be dropped where it had not been passed on. */
  readonly released: PromiseWithResolvers<'on' | 'dropped'>
}

type Recording = { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] }
/** @param changed what is sent in the place of what came */
type Forward = (changed?: Buffer) => Promise<Answer>

/** Starts a proxy on a loopback port in front of the DynamoDB at `target`; without a plan it changes nothing. */
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
    // A plan that throws is a mistake in a test: the caller is told, in a shape that no SDK retries.
    handle(incoming, outgoing).catch((error) => outgoing.writeHead(400).end(mistake(error)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  const reset = () => {
    // A request of a process that was killed must not take effect late: that its socket is gone may show only later.
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
    await sleep(fault.delayMs)
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

/** Headers that belong to one connection and not to the message. */
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
