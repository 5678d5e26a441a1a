import { expect, test } from '@jest/globals'
import { serveSite } from '#bin/describe/reference/site.ts'
import { freePort } from '#test/support/free-port.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { responsesTo, specialTargets } from './request-targets.ts'

test('the pages are served after every request target', async () => {
  const origin = `http://localhost:${await freePort()}`
  const site = await serveSite(new Map([['index.html', 'first']]), origin, 'http://127.0.0.1:4566')
  expect(await responsesTo(origin.slice('http://'.length), specialTargets)).toBe(specialTargets.length)
  for (const url of [origin, `${origin}/?any`, `${origin}/index.html?any`])
    expect(await (await fetch(url)).text()).toBe('first')
  expect((await fetch(`${origin}//`)).status).toBe(404)
  await site.stop()
})

test('the payment provider answers every request target', async () => {
  const provider = await startPaymentProvider()
  const host = provider.endpoint.slice('http://'.length)
  expect(await responsesTo(host, specialTargets)).toBe(specialTargets.length)
  await provider.stop()
})
