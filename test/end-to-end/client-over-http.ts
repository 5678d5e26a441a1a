import { expect, test } from '@jest/globals'
import { patient } from '#test/client/patient.ts'
import { commerceClient } from '../../client/commerce-client.ts'
import type { Deployment } from './deployment.ts'

/** Tests the client package at the gateway; `test/client` tests its calls and its retries. */
export function clientOverHttp(deployment: () => Deployment): void {
  const client = () =>
    commerceClient({
      baseUrl: deployment().base_url,
      // The first call may start the function, and a second attempt would be a replay.
      ...patient,
      token: () => deployment().token({ tenant: 'client' }),
    })

  test('the client creates an order and lists it', async () => {
    const body = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' } as const
    const placed = await client().POST('/v1/orders', { body })
    expect([placed.status, placed.replayed]).toEqual([201, false])
    const listed: unknown[] = []
    for await (const order of client().orders({ page_size: 1 })) listed.push(order)
    expect(listed).toEqual([placed.data])
  })

  test('the client reports responses of the gateway itself', async () => {
    const call = client().GET as unknown as (path: string) => Promise<unknown>
    await expect(call('/v2/orders')).rejects.toMatchObject({ code: 'NOT_FOUND.route', http: 404 })
  })
}
