import { afterEach, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { localSettings } from '../support/settings.ts'

afterEach(() => {
  delete process.env.AWS_LAMBDA_INITIALIZATION_TYPE
})

/** Returns what a function creates before its first request. */
function createdByLoading(): string[] {
  const created: string[] = []
  const endpoint = defineEndpoint(
    {
      operation: 'sample.read',
      method: 'GET',
      path: '/sample',
      summary: '',
      description: '',
      auth: 'none',
      idempotency: 'none',
      reply: {
        status: () => 200,
        schema() {
          created.push('schema')
          return v.strictObject({})
        },
      },
      errors: [],
      uses: [],
      impact: '',
    },
    { decide: () => ok({}) },
  )
  httpFunction(endpoint, {}, () => {
    created.push('runtime')
    return { settings: localSettings } as Runtime
  })
  return created
}

test('on Lambda, runtime and schemas are created when the module is loaded', () => {
  process.env.AWS_LAMBDA_INITIALIZATION_TYPE = 'on-demand'
  expect(createdByLoading()).toEqual(['runtime', 'schema'])
})

test('elsewhere, loading the module creates nothing', () => {
  expect(createdByLoading()).toEqual([])
})
