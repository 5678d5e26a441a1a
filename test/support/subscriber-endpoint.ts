import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { startHttpServer } from './http-server.ts'

/** An event that a subscriber received. */
interface ReceivedEvent {
  event_id: string
  /** The header of this name. */
  webhook_id: string
  /** The status of the response. */
  status: number
  type: string
  data: Record<string, unknown>
}

export interface SubscriberEndpoint {
  url: string
  /** The status of all responses. With 503, the endpoint asks for a pause of two minutes. */
  status: number
  /** The number of received requests. */
  readonly requests: number
  /** Returns the received events that the secret signed, in order. Their age does not count. */
  verified(secret: string): ReceivedEvent[]
  stop(): Promise<void>
}

/** Starts an endpoint that receives events, on loopback. */
export async function startSubscriberEndpoint(): Promise<SubscriberEndpoint> {
  const received: { body: string; headers: Record<string, string>; status: number }[] = []
  const { url, stop } = await startHttpServer(async (request, response) => {
    const body = await text(request)
    const { status } = endpoint
    received.push({ body, headers: request.headers as Record<string, string>, status })
    response.writeHead(status, status === 503 ? { 'Retry-After': '120' } : {}).end(`status ${status}`)
  })
  const endpoint: SubscriberEndpoint = {
    url,
    status: 200,
    get requests() {
      return received.length
    },
    verified(secret) {
      const webhook = new Webhook(secret)
      const signed = received.filter(({ body, headers }) => {
        const at = new Date(Number(headers['webhook-timestamp']) * 1000)
        const signature = webhook.sign(String(headers['webhook-id']), at, body)
        return headers['webhook-signature']?.split(' ').includes(signature)
      })
      return signed.map(({ body, headers, status }) => ({
        ...JSON.parse(body),
        webhook_id: headers['webhook-id'],
        status,
      }))
    },
    stop,
  }
  return endpoint
}
