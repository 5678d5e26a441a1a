import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHttpServer } from '../http-server.ts'
import { type CognitoAnswer, clientId, cognitoUsers } from './cognito-users.ts'

/** One received request. */
interface ProviderCall {
  operation: string
  // biome-ignore lint/suspicious/noExplicitAny: the input depends on the operation
  input: any
}

/** The fault of a request: no response, a reset connection, a delay, or this response. */
export type ProviderFault = 'lose' | 'reset' | { milliseconds: number } | CognitoAnswer

interface FakeIdentityProvider {
  endpoint: string
  /** All received requests, oldest first. */
  calls: ProviderCall[]
  /** The recipients of mails, oldest first. */
  mailed: string[]
  /** Called for each request; may be replaced at any time. */
  faults: (call: ProviderCall) => ProviderFault | undefined
  stop(): Promise<void>
}

/** Fakes the operations of Cognito's JSON interface that the service calls, on loopback (see `cognitoUsers`). */
export async function startIdentityProvider(): Promise<FakeIdentityProvider> {
  const users = cognitoUsers()
  const calls: ProviderCall[] = []
  const { url: endpoint, stop } = await startHttpServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.')
    const call = { operation, input: JSON.parse(await text(request)) }
    calls.push(call)
    const fault = fake.faults(call)
    if (fault === 'reset') return void response.socket?.resetAndDestroy()
    if (fault === 'lose') return
    if (fault && 'milliseconds' in fault) await sleep(fault.milliseconds, undefined, { ref: false })
    const answer = fault && 'status' in fault ? fault : users.answerTo(operation, call.input)
    response.writeHead(answer.status, { 'Content-Type': 'application/x-amz-json-1.1' })
    response.end(JSON.stringify(answer.body))
  }

  const fake: FakeIdentityProvider = {
    endpoint,
    calls,
    mailed: users.mailed,
    faults: () => undefined,
    stop,
  }
  return fake
}

/** Directs the service of this process to this fake. The service creates its client at the first call. */
export function useIdentityProvider({ endpoint }: FakeIdentityProvider): void {
  process.env.AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER = endpoint
  // Requests to log users in are signed.
  process.env.AWS_REGION ??= 'us-east-1'
  process.env.USER_POOL_CLIENT_ID = clientId
  process.env.AWS_ACCESS_KEY_ID ??= 'test'
  process.env.AWS_SECRET_ACCESS_KEY ??= 'test'
}
