import { createHash } from 'node:crypto'
import { GetFunctionCommand, LambdaClient, ListFunctionsCommand } from '@aws-sdk/client-lambda'
import { expect, test } from '@jest/globals'
import { signedHeaders } from '#test/support/signed-request.ts'
import type { Deployment } from './deployment.ts'

/** Who reaches the local AWS while the service runs on it. `test/local/gate.test.ts` has the other cases. */
export function localAwsOverHttp(running: () => Deployment): void {
  test('a page of an allowed origin calls the API', async () => {
    const { origin, send } = running()
    const answer = await send('/v1/orders', { headers: { Origin: origin } })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, origin])
  })

  test('a page of another origin does not', async () => {
    const answer = await running().send('/v1/orders', { headers: { Origin: 'https://evil.example' } })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([403, null])
  })

  test('the keys of a role do not follow from the names of its function', async () => {
    const { aws } = running()
    const lambda = new LambdaClient(aws)
    const { Functions: [one] = [] } = await lambda.send(new ListFunctionsCommand({ MaxItems: 1 }))
    const { Configuration } = await lambda.send(new GetFunctionCommand({ FunctionName: one?.FunctionName }))
    lambda.destroy()
    const hash = (text: string) => createHash('sha256').update(text).digest('hex')
    const digest = hash(`${Configuration?.FunctionArn}:${Configuration?.Role}`)
    const credentials = {
      accessKeyId: `ASIA${digest.slice(0, 16).toUpperCase()}`,
      secretAccessKey: hash(`secret:${digest}`),
      sessionToken: hash(`token:${digest}`),
    }
    const headers = { 'X-Amz-Target': 'DynamoDB_20120810.ListTables' }
    const request = { service: 'dynamodb', method: 'POST', headers, body: '{}' }
    const answer = await fetch(aws.endpoint, {
      method: 'POST',
      headers: await signedHeaders({ ...aws, credentials }, request),
      body: '{}',
    })
    expect(await answer.text()).toContain('UnrecognizedClientException')
  })
}
