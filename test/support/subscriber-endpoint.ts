import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** An event that a subscriber received. */
export interface ReceivedEvent {
  event_id: string
  type: string
  data: Record<string, unknown>
}

export interface SubscriberEndpoint {
  url: string
  /** The status of all responses. */
  status: number
  /** Returns the received events that the secret signed, in order. Their age does not count. */
  verified(secret: string): ReceivedEvent[]
  stop(): Promise<void>
}

/** Starts an endpoint that receives events, on loopback. */
export async function startSubscriberEndpoint(): Promise<SubscriberEndpoint> {
  const received: { body: string; headers: Record<string, string> }[] = []
  const server = createServer(async (request, response) => {
    received.push({ body: await text(request), headers: request.headers as Record<string, string> })
    response.writeHead(endpoint.status).end(`status ${endpoint.status}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint: SubscriberEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    status: 200,
    verified(secret) {
      const webhook = new Webhook(secret)
      const signed = received.filter(({ body, headers }) => {
        const at = new Date(Number(headers['webhook-timestamp']) * 1000)
        const signature = webhook.sign(String(headers['webhook-id']), at, body)
        return headers['webhook-signature']?.split(' ').includes(signature)
      })
      return signed.map(({ body }) => JSON.parse(body))
    },
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return endpoint
}
