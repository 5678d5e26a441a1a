import { userInfo } from 'node:os'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { operatorOn } from '#bin/commands/stack/operator.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'

const arn = 'arn:aws:sts::111122223333:assumed-role/commerce-operators/jane'
const outputs = { TableName: 'table' }
const variables = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'key',
  AWS_SECRET_ACCESS_KEY: 'secret',
}
const before = { ...process.env }
let sts: HttpServer
let returned = arn
const asked: string[] = []

beforeAll(async () => {
  sts = await startHttpServer(async (request, response) => {
    asked.push(Buffer.concat(await request.toArray()).toString())
    response.setHeader('content-type', 'text/xml')
    response.end(
      `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${returned}</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`,
    )
  })
  Object.assign(process.env, variables, { AWS_ENDPOINT_URL_STS: sts.url })
})

afterAll(() => {
  process.env = before
  return sts.stop()
})

describe('the operator in the audit', () => {
  test('of a stack on AWS is the ARN of the credentials, as AWS returns it', async () => {
    expect((await operatorOn({ outputs, access: {} })).name).toBe(arn)
    expect(asked).toEqual([expect.stringContaining('Action=GetCallerIdentity')])
  })

  test('is refused with a character that nobody sees', async () => {
    returned = `${arn}\u202e`
    await expect(operatorOn({ outputs, access: {} })).rejects.toThrow('invisible')
    returned = arn
  })

  test('of the local run is the user of the operating system', async () => {
    const access = { endpoint: 'http://127.0.0.1:1', region: 'us-east-1' }
    expect((await operatorOn({ outputs, access })).name).toBe(userInfo().username)
  })
})

test('an operator may use the table hours after the command began', async () => {
  const dynamodb = await startHttpServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/x-amz-json-1.0')
    response.end('{}')
  })
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' }
  const access = { endpoint: dynamodb.url, region: 'us-east-1', credentials }
  const { table } = await operatorOn({ outputs, access })
  const later = jest.spyOn(systemClock, 'now').mockReturnValue(Date.now() + 5 * 3_600_000)
  const read = table.get({ pk: 'order#acme#0', sk: '1' }).finally(() => {
    later.mockRestore()
    return dynamodb.stop()
  })
  await expect(read).resolves.toBeUndefined()
})
