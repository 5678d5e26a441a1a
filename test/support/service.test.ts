import { expect, test } from '@jest/globals'
import * as v from 'valibot'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { outcome } from './outcome.ts'
import { startService } from './service.ts'

const route = defineRoute({
  operation: 'tests.break',
  method: 'POST',
  path: '/tests/break',
  summary: 'Break',
  description: 'Has a mistake.',
  auth: 'none',
  idempotency: 'none',
  reply: { status: () => 200, schema: () => v.strictObject({}) },
  errors: [],
  uses: [],
  impact: 'Nothing.',
})
const broken = defineEndpoint(route, {
  decide() {
    throw new TypeError('a mistake in the code')
  },
})

test('a call throws the fault behind a 500, unless its test causes it', async () => {
  const { call } = await startService({ only: [broken] })
  const request = { method: 'POST', path: '/tests/break' }
  await expect(call(request)).rejects.toThrow('a mistake in the code')
  expect(outcome(await call({ ...request, failsInternally: true }))).toBe('500 INTERNAL.unexpected')
})
