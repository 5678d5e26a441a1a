import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Deployment, deploy } from './deployment.ts'
import { localAwsOverHttp } from './local-aws-over-http.ts'
import { verificationOverHttp } from './operators-over-http.ts'
import { removedPermission } from './permissions-over-http.ts'
import { recordedActions } from './recorded-actions.ts'
import { routingOverHttp } from './routing-over-http.ts'

let service: Deployment
beforeAll(async () => {
  service = await deploy()
}, 600_000)
afterAll(() => service?.stop())

/** The short version of service.campaign.test.ts, which makes the same checks: `npm run test:all` leaves this one out. */
describe('the deployed stack', () => {
  verificationOverHttp(() => service)
  recordedActions(() => service, ['verify'])
  localAwsOverHttp(() => service)
  removedPermission(() => service)
  routingOverHttp(() => service)

  test('returns the same error for another tenant’s order and for an absent one', async () => {
    const created = await service.send('/v1/orders', {
      method: 'POST',
      as: { tenant: 'owner' },
      headers: { 'Idempotency-Key': 'foreign' },
      body: { cart_id: 'c', amount_minor: 5, currency: 'EUR' },
    })
    const as = { tenant: 'other' }
    const headers = { 'X-Correlation-Id': 'same' }
    const foreign = await service.send(`/v1/orders/${created.json.id}`, { as, headers })
    const absent = await service.send('/v1/orders/01900000-0000-8000-8000-000000000000', { as, headers })
    expect(foreign).toMatchObject({ status: 404, text: absent.text })
  })
})
