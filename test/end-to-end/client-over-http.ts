import { expect, test } from '@jest/globals'
import { type CommerceClient, CommerceError, commerceClient } from '../../client/commerce-client.ts'
import type { Deployment } from './deployment.ts'

const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' } as const

/** Tests the client package like a consumer of the API. */
export function clientOverHttp(deployment: () => Deployment): void {
  const clientOf = (tenant: string): CommerceClient =>
    commerceClient({ baseUrl: deployment().base_url, token: () => deployment().token({ tenant }) })

  test('the client creates orders, reads one and lists them while another is created', async () => {
    const client = clientOf('client')
    const place = () => client.POST('/v1/orders', { body: order })
    const placed = await Promise.all([place(), place(), place()])
    const [first] = placed
    expect([first?.status, first?.replayed]).toEqual([201, false])
    const { data } = await client.GET('/v1/orders/{id}', { params: { path: { id: first?.data.id ?? '' } } })
    expect(data).toEqual(first?.data)
    const seen: string[] = []
    for await (const { id } of client.orders({ page_size: 1 })) {
      seen.push(id)
      if (seen.length === 1) await place()
    }
    expect(seen.toSorted()).toEqual(placed.map(({ data: { id } }) => id).toSorted())
  })

  test('the client creates a refund, with a provider that is down at first too, and replays it', async () => {
    const client = clientOf('client')
    for (const charge_id of ['ch_client', 'ch_down_client']) {
      const refund = (amount: number) =>
        client.POST('/v1/refunds', {
          body: { charge_id, amount },
          params: { header: { 'Idempotency-Key': charge_id } },
        })
      const paid = await untilAnswered(() => refund(700))
      const again = await refund(700)
      expect([again.status, again.replayed, again.data]).toEqual([201, true, paid.data])
      const refused = await refund(701).catch((error) => error)
      expect(refused).toBeInstanceOf(CommerceError)
      expect(refused).toMatchObject({ code: 'CONFLICT.idempotency.payload_mismatch', http: 409 })
    }
  })

  test('the client reports responses of the gateway itself', async () => {
    const call = clientOf('client').GET as unknown as (path: string) => Promise<unknown>
    await expect(call('/v2/orders')).rejects.toMatchObject({ code: 'NOT_FOUND.route', http: 404 })
  })
}

/** Repeats a call with the same key after the client gave up at 10 s. */
async function untilAnswered<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let calls = 1; ; calls += 1) {
    try {
      return await call()
    } catch (error) {
      if (calls === 5) throw error
      expect(error).toMatchObject({ http: expect.any(Number), retryable: true })
    }
  }
}
