import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { sentMails } from '#bin/local/mail.ts'
import type { Deployment, HttpAnswer, Send } from './deployment.ts'

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
    for (let n = 0; n < 100; n += 1) {
      const texts = await mailsTo(email)
      if (texts.length === mails) return /Your code is (\d{6})\./.exec(texts.at(-1) ?? '')?.[1] ?? ''
      await sleep(100)
    }
    throw new Error(`no mail came: ${(await mailsTo(email)).length} of ${mails}`)
  }

  test('a code is sent by mail, starts one session, and the session works with its CSRF token', async () => {
    const email = 'jane.doe@example.com'
    const asked = await post('/otp/request', { email: ' Jane.Doe@Example.com' })
    expect([asked.status, Object.keys(asked.json)]).toEqual([202, ['message_id']])
    const code = await codeFor(email, 1)
    const wrong = String((Number(code) + 1) % 1e6).padStart(6, '0')
    expect(summary(await post('/otp/verify', { email, code: wrong }))).toBe('400 CODE.invalid')
    const verified = await post('/otp/verify', { email, code })
    expect([verified.status, Object.keys(verified.json)]).toEqual([200, ['session_id']])
    expect(summary(await post('/otp/verify', { email, code }))).toBe('400 CODE.invalid')
    const set = verified.headers.getSetCookie()
    expect(set).toHaveLength(2)
    expect(set[0]).toMatch(/; Path=\/; Secure; SameSite=Lax; HttpOnly$/)

    const Cookie = set.map((one) => one.split(';')[0]).join('; ')
    const token = /csrf_token=([\w-]+)/.exec(Cookie)?.[1] ?? ''
    const cart = { code: 'NOTHING' }
    const used = await post('/discount/verify', cart, { Cookie, 'X-CSRF-Token': token })
    expect([used.status, used.json]).toEqual([200, { applied: false, amount: 0 }])
    expect(summary(await post('/discount/verify', cart, { Cookie }))).toBe('403 AUTHZ.csrf.token')
    const evil = { Cookie, 'X-CSRF-Token': token, Origin: 'https://evil.example' }
    // The local AWS refuses other origins before the service does.
    expect(summary(await post('/discount/verify', cart, evil))).toBe('403')
    expect(summary(await send('/v1/orders', { headers: { Cookie } }))).toBe('401 AUTH.invalid_credentials')

    const { session_id } = verified.json
    const sessions = await deployment().run('sessions', 'list', '--tenant', 'public')
    expect(sessions.map((session) => session.session_id)).toContain(session_id)
    await deployment().run('sessions', 'revoke', session_id, '--tenant', 'public', '--yes')
    expect(summary(await post('/discount/verify', cart, { Cookie, 'X-CSRF-Token': token }))).toBe(
      '401 AUTH.invalid_credentials',
    )
  })

  test('an API key is created, used in its tenant, rotated and revoked', async () => {
    const run = (...args: string[]) => deployment().run('api-keys', ...args, '--tenant', 'machines')
    const orders = async (key: unknown) =>
      summary(await send('/v1/orders', { headers: { 'X-Api-Key': String(key) } }))
    const [made] = await run('create', '--name', 'a test', '--scope', 'orders:read')
    expect(await orders(made?.key)).toBe('200')
    expect(await orders(`${made?.key}x`)).toBe('401 AUTH.invalid_credentials')
    const [next] = await run('rotate', String(made?.key_id), '--overlap', '0')
    expect([await orders(made?.key), await orders(next?.key)]).toEqual([
      '401 AUTH.invalid_credentials',
      '200',
    ])
    await run('revoke', String(next?.key_id), '--yes')
    expect(await orders(next?.key)).toBe('401 AUTH.invalid_credentials')
    const listed = await run('list')
    expect(listed.map(({ state }) => state)).toEqual(['expired', 'revoked'])
    expect(JSON.stringify(listed)).not.toContain(String(made?.key).split('.')[2])
  })
}
