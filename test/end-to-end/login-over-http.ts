import { CognitoIdentityProviderClient, InitiateAuthCommand } from '@aws-sdk/client-cognito-identity-provider'
import { expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import { sentMails } from '#bin/local/mail.ts'
import type { Deployment, HttpAnswer } from './deployment.ts'
import { until } from './until.ts'

const email = 'jane@users.example'
const password = 'Correct-horse-12!'
const tenant = 'logged-in'

/** A user is created, logs in, uses and refreshes the token, gets another role, and requests a new password. */
export function loginOverHttp(deployment: () => Deployment): void {
  const summary = ({ status, json }: HttpAnswer) => `${status} ${json?.error?.code ?? ''}`.trim()
  const user = (...args: string[]) => deployment().run('users', 'set', ...args)
  const userWith = (given: string, ...args: string[]) =>
    deployment().pipe(given, 'users', 'set', ...args, '--password-stdin')
  const post = (path: string, body: unknown) => deployment().send(path, { method: 'POST', as: null, body })
  const login = (given = password) => post('/login', { email: 'Jane@Users.example', password: given })
  const orders = (token: string, order?: object) =>
    deployment().send('/v1/orders', {
      as: null,
      headers: { Authorization: `Bearer ${token}`, 'Idempotency-Key': 'by-login' },
      ...(order && { method: 'POST', body: order }),
    })
  const audit = () => deployment().run('audit', 'list', '--tenant', tenant)
  const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }

  /** Calls the provider directly, like a client. */
  async function refresh(refreshToken: string): Promise<string> {
    const { aws_endpoint: endpoint, region, outputs } = deployment()
    const ClientId = outputs.UserPoolClientId
    const cognito = new CognitoIdentityProviderClient({ endpoint, region })
    const AuthParameters = { REFRESH_TOKEN: refreshToken }
    const command = new InitiateAuthCommand({ AuthFlow: 'REFRESH_TOKEN_AUTH', ClientId, AuthParameters })
    const { AuthenticationResult: result } = await cognito.send(command)
    cognito.destroy()
    return result?.AccessToken ?? ''
  }

  test('a user logs in and uses the token, and the one of a refresh', async () => {
    const [made] = await userWith(password, email, '--tenant', tenant, '--role', 'Viewer')
    expect(made).toEqual({ sub: expect.any(String), tenant, role: 'Viewer', created: true })
    expect(summary(await login('wrong'))).toBe('401 AUTH.invalid_credentials')
    const { status, json: tokens } = await login()
    expect([status, tokens.token_type, tokens.expires_in]).toEqual([200, 'Bearer', 3600])
    expect(decodeJwt(tokens.access_token)).toMatchObject({ tenant, sub: made?.sub })
    expect(JSON.stringify(decodeJwt(tokens.access_token))).not.toContain('@')
    expect((await orders(tokens.access_token)).status).toBe(200)
    expect(summary(await orders(tokens.access_token, order))).toBe('403 AUTHZ.role.denied')

    await user(email, '--role', 'Editor')
    const refreshed = await refresh(tokens.refresh_token)
    const placed = await orders(refreshed, order)
    expect([placed.status, placed.json.tenant_id]).toEqual([201, tenant])

    const records = (await audit()).toReversed()
    const shown = records.map(({ action, actor_id, result, before, after }) => ({
      action,
      actor_id,
      result,
      ...(before !== undefined && { before, after }),
    }))
    // The administrator of the local AWS, as commands with --stack record the ARN of their credentials.
    const actor_id = 'arn:aws:iam::000000000000:root'
    const operator = { action: 'role.change', actor_id, result: 'allow' }
    expect(shown).toEqual([
      { ...operator, before: { role: null }, after: { role: 'Viewer' } },
      { action: 'orders.create', actor_id: made?.sub, result: 'deny' },
      { ...operator, before: { role: 'Viewer' }, after: { role: 'Editor' } },
      { action: 'token.rotated', actor_id: made?.sub, result: 'allow' },
    ])
    expect(JSON.stringify(records)).not.toMatch(/@|jane/i)
  })

  test('a password that the pool rejects creates no user, and a user stays in their tenant', async () => {
    const other = 'weak@users.example'
    await expect(userWith('weak', other, '--tenant', tenant, '--role', 'Viewer')).rejects.toThrow(/Password/)
    await expect(user(other, '--role', 'Editor')).rejects.toThrow()
    await expect(user(email, '--tenant', 'elsewhere')).rejects.toThrow(/tenant/)
    expect((await audit()).filter(({ action }) => action === 'role.change')).toHaveLength(2)
  })

  test('a password reset mail goes to its owner only, and the response does not reveal whether it was sent', async () => {
    const mails = async () => JSON.stringify(await sentMails(deployment().aws))
    const answers = [
      await post('/password/reset', { email: 'nobody@users.example' }),
      await post('/password/reset', { email }),
    ]
    for (const { status, json } of answers) expect([status, Object.keys(json)]).toEqual([202, ['message_id']])
    const sent = await until(mails, (texts) => texts.includes(email))
    expect(sent).not.toContain('nobody@')
  })
}
