import { expect, test } from '@jest/globals'
import { sentMails } from '#bin/local/mail.ts'
import type { Deployment, HttpAnswer, Send } from './deployment.ts'
import { until } from './until.ts'

/** A user logs in with a code from a mail and uses the session. A service uses its API key. */
export function identityOverHttp(deployment: () => Deployment): void {
  let keys = 0
  const send = (path: string, options: Send = {}) => deployment().send(path, { as: null, ...options })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, { method: 'POST', body, headers: { 'Idempotency-Key': `identity-${keys++}`, ...headers } })
  const summary = ({ status, json }: HttpAnswer) => `${status} ${json?.error?.code ?? ''}`.trim()

  /** Returns the mails to an address that the local AWS sent. */
  async function mailsTo(email: string): Promise<string[]> {
    return (await sentMails(deployment().aws, email)).map(({ text }) => text)
  }

  async function codeFor(email: string, mails: number): Promise<string> {
    const texts = await until(
      () => mailsTo(email),
      ({ length }) => length === mails,
    )
    return /Your code is (\d{6})\./.exec(texts.at(-1) ?? '')?.[1] ?? ''
  }

  test('a code is sent by mail, starts one session, and the session works with its CSRF token', async () => {
    const email = 'jane.doe@example.com'
    const asked = await post('/otp/request', { email: ' Jane.Doe@Example.com' })
    expect([asked.status, Object.keys(asked.json)]).toEqual([202, ['message_id']])
    const code = await codeFor(email, 1)
    const verified = await post('/otp/verify', { email, code })
    expect([verified.status, Object.keys(verified.json)]).toEqual([200, ['session_id']])
    const set = verified.headers.getSetCookie()
    expect(set).toHaveLength(2)
    expect(set[0]).toMatch(/; Path=\/; Secure; SameSite=Lax; HttpOnly$/)

    const Cookie = set.map((one) => one.split(';')[0]).join('; ')
    const token = /csrf_token=([\w-]+)/.exec(Cookie)?.[1] ?? ''
    const cart = { code: 'NOTHING' }
    const used = await post('/discount/verify', cart, { Cookie, 'X-CSRF-Token': token })
    expect([used.status, used.json]).toEqual([200, { applied: false, amount: 0 }])
    expect(summary(await post('/discount/verify', cart, { Cookie }))).toBe('403 AUTHZ.csrf.token')
  })

  test('an API key reads orders', async () => {
    const key = ['api-keys', 'create', '--tenant', 'machines', '--name', 'a test', '--scope', 'orders:read']
    const [made] = await deployment().run(...key)
    const orders = await send('/v1/orders', { headers: { 'X-Api-Key': String(made?.key) } })
    expect(orders.status).toBe(200)
  })
}
