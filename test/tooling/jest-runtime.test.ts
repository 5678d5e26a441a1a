import { once } from 'node:events'
import { connect } from 'node:net'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { expect, test } from '@jest/globals'
import middy from '@middy/core'
import { base64url } from 'jose'
import * as v from 'valibot'
import type { Capacity } from '#test/support/capacity.ts'
import { capacityOf } from '#test/support/capacity.ts'
import { testClient } from '#test/support/dynamodb-client.ts'

test('sources run as native ES modules, with types stripped and packages unchanged', async () => {
  const nothing: Capacity = capacityOf([])
  expect(nothing.requests).toBe(0)
  expect(import.meta.url).toMatch(/^file:.*jest-runtime\.test\.ts$/)
  expect(process.getBuiltinModule('node:http')).toHaveProperty('request')
  expect(base64url.encode('a')).toBe('YQ')
  expect(v.parse(v.pipe(v.string(), v.trim()), ' a ')).toBe('a')
  expect(await middy().handler(async () => 'done')({}, {} as never)).toBe('done')
})

test('the run has its own DynamoDB Local, and a client without an endpoint is rejected', async () => {
  const client = testClient()
  expect(client).toBeInstanceOf(DynamoDBClient)
  expect(await client.send(new ListTablesCommand({ Limit: 1 }))).toHaveProperty('TableNames')
  client.destroy()
  expect(() => testClient('')).toThrow('DYNAMODB_ENDPOINT')
})

test('an error of Node itself is an Error, and only an error of a class is an instance of it', async () => {
  const [refused] = await once(connect(1, '127.0.0.1'), 'error').catch((error) => [error])
  expect(refused instanceof Error).toBe(true)
  expect(refused instanceof TypeError).toBe(false)
  expect(new TypeError('x') instanceof Error).toBe(true)
  expect({ message: 'x' } instanceof Error).toBe(false)
})
