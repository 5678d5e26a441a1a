import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from '@jest/globals'
import { freePort } from '#test/support/free-port.ts'
import { languages, type Receiver, startReceiver } from '#test/webhooks/receivers.ts'
import type { Deployment } from './deployment.ts'

/** Registers the endpoints of the guide 'Receive events' as subscribers. */
export function receiversOverHttp(deployment: () => Deployment): void {
  let receiver: Receiver | undefined
  // A test that hangs is ended by jest, and its endpoint by this.
  afterEach(() => receiver?.stop())

  test.each(languages)(
    'the endpoint of the guide in %s gets each order once',
    async (language) => {
      const tenant = `receives-${language.toLowerCase()}`
      const port = await freePort()
      const endpoint = ['--url', `http://127.0.0.1:${port}/hook`, '--events', 'order.placed']
      const [subscriber] = await deployment().run('subscribers', 'create', '--tenant', tenant, ...endpoint)
      const folder = await mkdtemp(join(tmpdir(), 'receiver-'))
      receiver = await startReceiver(language, { folder, secret: String(subscriber?.secret), port })
      try {
        const orders: string[] = []
        for (const key of ['first', 'second']) {
          const { id } = (await deployment().placeOrder(tenant, key)).json
          await receiver.untilPrinted(({ data }) => data.order_id === id)
          orders.push(id)
        }
        expect((await receiver.stop()).map(({ data }) => data.order_id)).toEqual(orders)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
    300_000,
  )
}
