import { expect, test } from '@jest/globals'
import { startService } from '#test/support/service.ts'
import { discountCalls } from './discount-calls.ts'

const service = await startService()
const { openTable } = service.runtime
/** Called once, before the next commit of an action that is watched. */
let beforeCommit: (() => Promise<unknown>) | undefined
service.runtime.openTable = (...opening) => {
  const table = openTable(...opening)
  return {
    ...table,
    async transact(changes) {
      const change = beforeCommit
      beforeCommit = undefined
      await change?.()
      return table.transact(changes)
    },
  }
}
const calls = discountCalls(service)
const onCart = { 'X-Cart-Id': 'c1' }

test('a verification that conflicts with a change of the cart counts a gift card that was applied meanwhile', async () => {
  const tenant = 'gift'
  await calls.cart(tenant, 'c1', 1000)
  await calls.makeCode(tenant, 'TENTH', 'percent-10')
  beforeCommit = async () => {
    const gift = { id: 'c1', cart_id: 'c1', tenant_id: tenant, giftcard_id: 'g1', amount: 100 }
    await calls.sendEvent('giftcard.applied', gift)
    await calls.cart(tenant, 'c1', 2000)
  }
  const { status, json } = await calls.verify(tenant, 'TENTH', onCart)
  expect([status, json.error?.details]).toEqual([409, { reason: 'gift_card' }])
  expect(await calls.linesOf(tenant, 'c1')).toEqual([])
})

test('a verification that conflicts with a change of the cart does not apply a code that was deleted meanwhile', async () => {
  const tenant = 'deleted'
  await calls.cart(tenant, 'c1', 1000)
  const { id } = (await calls.makeCode(tenant, 'QUARTER', 'percent-25')).json
  beforeCommit = async () => {
    const as = { role: 'Admin', scope: 'codes:read codes:write', tenant }
    await service.call({ method: 'DELETE', path: `/codes/${id}`, as })
    await calls.cart(tenant, 'c1', 2000)
  }
  const { status, json } = await calls.verify(tenant, 'QUARTER', onCart)
  expect([status, json]).toEqual([200, { applied: false, amount: 0 }])
  expect(await calls.linesOf(tenant, 'c1')).toEqual([])
})
