import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb'
import { startHttpServer } from '#test/support/http-server.ts'
import { type Answer, failureAnswer } from './dynamodb-failures.ts'
import {
  type ActiveFault,
  type Call,
  type Fault,
  FaultPlans,
  type Faults,
  type RecordedCall,
} from './faults.ts'

export interface DynamodbProxy extends Faults {
  readonly endpoint: string
  readonly stop: () => Promise<void>
}

type Forward = () => Promise<Answer>

/** Forwards a call, or rejects it. */
export type Limit = (call: Call, forward: Forward) => Promise<Answer>

/**
 * Starts a proxy for the DynamoDB at `target` on a loopback port. Without a plan and a limit it forwards everything
 * unchanged.
 */
export async function startDynamodbProxy(
  target: string,
  limit: Limit = (_, forward) => forward(),
): Promise<DynamodbProxy> {
  const agent = new Agent({ keepAlive: true })
  const plans = new FaultPlans()

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const bytes = await bytesOf(incoming)
    const operation = String(incoming.headers['x-amz-target'] ?? '').replace(/^.*\./, '')
    const { call, injectFault } = plans.record(operation, parsed(bytes))
    const forward: Forward = async () => {
      const url = new URL(incoming.url ?? '/', target)
      const answer = await limit(call, () => send(url, agent, incoming, bytes))
      call.status = answer.status
      call.consumed = consumedIn(answer)
      return answer
    }
    const callerIsGone = () => incoming.socket.destroyed
    const answer = injectFault ? await answerOf(injectFault, call, forward, callerIsGone) : await forward()
    if (answer === 'lost') incoming.socket.destroy()
    else outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const { url: endpoint, stop } = await startHttpServer((incoming, outgoing) => {
    // A plan that throws is a mistake in a test. The caller gets an error that no SDK retries.
    handle(incoming, outgoing).catch((error) => outgoing.writeHead(400).end(mistake(error)))
  })

  return {
    endpoint,
    calls: plans.calls,
    inject: plans.inject,
    reset: plans.reset,
    async stop() {
      plans.reset()
      agent.destroy()
      await stop()
    },
  }
}

async function answerOf(
  { fault, injected, released }: ActiveFault,
  call: RecordedCall,
  forward: Forward,
  callerIsGone: () => boolean,
): Promise<Answer | 'lost'> {
  if (fault === 'hold-request' || fault === 'no-arrival') {
    injected.resolve(call)
    const release = await released.promise
    return release === 'dropped' || callerIsGone() ? 'lost' : forward()
  }
  const answer = await happen(fault, call, forward)
  injected.resolve(call)
  if (fault === 'hold' || fault === 'no-answer') await released.promise
  return answer
}

async function happen(
  fault: Exclude<Fault, 'hold-request' | 'no-arrival'>,
  call: Call,
  forward: Forward,
): Promise<Answer | 'lost'> {
  if (typeof fault === 'object') {
    await ('until' in fault ? fault.until : fault.first(call))
    return forward()
  }
  if (fault === 'lose-request') return 'lost'
  if (fault === 'hold' || fault === 'no-answer') return forward()
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
