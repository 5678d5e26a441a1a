import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PaidRefund } from './refund-ledger.ts'
import { stripeApi } from './stripe-api.ts'
import { type Answer, type Call, errorAnswer, readCall, sendAnswer } from './stripe-wire.ts'

/** What goes wrong with a request. */
export type Fault =
  | {
      /** Before it is carried out, which then never happens, or after it. */
      when: 'before' | 'after'
      /** Nothing is answered until the caller gives up; the connection is reset; or this is answered. */
      how: 'lose' | 'reset' | Answer
    }
  /** A refund begins, which takes its key, and is carried out once this resolves. */
  | { until: Promise<unknown> }

export interface PaymentProviderDouble {
  /** Without a slash at the end. */
  readonly endpoint: string
  /** All requests that came, oldest first. */
  readonly calls: readonly Call[]
  /** What was really paid, oldest first. */
  refunds(): PaidRefund[]
  /** Asked for each request; may be replaced at any time. */
  faults: (call: Call) => Fault | undefined
  /** As Stripe does with idempotency keys after a day. */
  forgetKeys(): void
  stop(): Promise<void>
}

const longestWaitMilliseconds = 30_000
/** So that twins meet: the second request with a key comes while the first is under way. */
const workMilliseconds = 5

/**
 * Speaks Stripe's API for refunds and charges on loopback, with all state in memory. Every charge ch_… exists in
 * every account acct_…, with 1000 euros captured. Names have effects: of ch_slow_… the first answer for a key comes
 * too late, ch_declined_… is refused, ch_down_… fails twice for a key, and refunds of ch_pending_… stay pending.
 * @param options.port a free one where absent
 */
export async function startPaymentProvider({ port = 0 } = {}): Promise<PaymentProviderDouble> {
  const api = stripeApi()
  const calls: Call[] = []
  let received = 0
  const server = createServer((request, response) => {
    received += 1
    serve(request, response, received).catch((thrown) => {
      // A fault that throws is a mistake in a test: its caller is told in a way that nobody retries.
      response.writeHead(400, { 'Content-Type': 'application/json' }).end(bodyOf(thrown))
    })
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('No TCP port was given.')

  async function serve(request: IncomingMessage, response: ServerResponse, number: number): Promise<void> {
    const call = await readCall(request, number)
    if (!call) return void request.destroy()
    calls.push(call)
    const fault = double.faults(call)
    const strikes = fault !== undefined && 'how' in fault ? fault : undefined
    if (strikes?.when === 'before') return strike(strikes.how, call, response)
    const until = fault !== undefined && 'until' in fault ? fault.until : undefined
    const answer = await api.answerTo(call, () => until ?? sleep(workMilliseconds))
    if (strikes) return strike(strikes.how, call, response)
    if (answer.late) await callerIsGone(response)
    sendAnswer(response, call, answer)
  }

  const double: PaymentProviderDouble = {
    endpoint: `http://127.0.0.1:${address.port}`,
    calls,
    refunds: api.paid,
    forgetKeys: api.forgetKeys,
    faults: () => undefined,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return double
}

async function strike(how: 'lose' | 'reset' | Answer, call: Call, response: ServerResponse): Promise<void> {
  if (how === 'reset') {
    response.socket?.resetAndDestroy()
  } else if (how === 'lose') {
    await callerIsGone(response)
    response.destroy()
  } else {
    sendAnswer(response, call, how)
  }
}

async function callerIsGone(response: ServerResponse): Promise<void> {
  if (response.destroyed) return
  const signal = AbortSignal.timeout(longestWaitMilliseconds)
  await once(response, 'close', { signal }).catch(() => {})
}

function bodyOf(thrown: unknown): string {
  return JSON.stringify(errorAnswer(400, { message: `The double failed: ${thrown}` }).body)
}
