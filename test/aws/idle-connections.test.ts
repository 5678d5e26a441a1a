import { afterAll, expect, test } from '@jest/globals'
import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { sendMail } from '#shared/platform/aws/ses.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { localSettings } from '#test/support/settings.ts'

// An execution environment that was frozen for minutes finds its connections broken.
const used = new WeakSet<object>()
const server = await startHttpServer((request, response) => {
  if (used.has(request.socket)) return request.socket.resetAndDestroy()
  used.add(request.socket)
  const AuthenticationResult = { AccessToken: 'a', RefreshToken: 'r', ExpiresIn: 1 }
  response.setHeader('Content-Type', 'application/json')
  request.resume().on('end', () => response.end(JSON.stringify({ AuthenticationResult, MessageId: 'm' })))
  return
})
Object.assign(process.env, {
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'k',
  AWS_SECRET_ACCESS_KEY: 's',
  AWS_ENDPOINT_URL: server.url,
  AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER: server.url,
})
afterAll(() => server.stop())

const provider = cognitoProvider({ userPoolId: 'eu-west-1_x', clientId: 'c' }, localSettings)
const mail = { from: 'a@acme.cloud', to: 'b@acme.cloud', subject: 's', text: 't' }

test.each([
  ['login', () => provider.signIn({ email: 'a@acme.cloud', password: 'p' }, startBudget(systemClock, 5000))],
  ['mail', () => sendMail(mail, { configurationSet: undefined, messageId: 'm' })],
])('a %s succeeds though the connection of the one before is broken', async (_, call) => {
  await call()
  await expect(call()).resolves.not.toThrow()
})
