import { expect, test } from '@jest/globals'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { toRequest } from '#shared/platform/aws/gateway-event.ts'

const headersOf = (multiValueHeaders: Record<string, string[]>) =>
  toRequest({ httpMethod: 'GET', resource: '/', multiValueHeaders } as unknown as APIGatewayProxyEvent)
    .headers

test('the values of a repeated header are joined with a comma and a space', () => {
  expect(headersOf({ 'If-Match': ['"a"', '"b"'] })).toEqual({ 'if-match': '"a", "b"' })
})

test('the parts of a divided Cookie header are joined with semicolons, because cookies may contain commas', () => {
  expect(headersOf({ Cookie: ['a=1,2', 'b=3'] })).toEqual({ cookie: 'a=1,2; b=3' })
})
