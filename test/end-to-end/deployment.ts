import { join } from 'node:path'
import { startLocalService } from '#bin/local/local-service.ts'
import { describeService, type ServiceFile } from '#bin/local/service-file.ts'
import { issueToken, type TokenRequest } from '#bin/token.ts'
import { freePort } from '#test/support/free-port.ts'

export const profile = join(import.meta.dirname, '../../shared/settings/profiles/local.json')

export interface Deployment extends ServiceFile {
  enginePid: number
  token(who?: Partial<TokenRequest>): Promise<string>
  /** A request over HTTP; `as` signs a token, null sends none. */
  send(path: string, options?: Send): Promise<HttpAnswer>
  stop(): Promise<void>
}

export interface Send {
  method?: string
  as?: Partial<TokenRequest> | null
  headers?: Record<string, string>
  body?: unknown
}

export interface HttpAnswer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into bodies of every shape
  json: any
}

/** Deploys the whole stack to a local AWS of its own, as `npm start` does. */
export async function deploy(): Promise<Deployment> {
  const { engine, outputs } = await startLocalService({
    port: await freePort(),
    settings: profile,
    signal: new AbortController().signal,
  })
  const service = describeService(engine.endpoint, outputs)
  const tokens = new Map<string, Promise<string>>()
  const token = (who: Partial<TokenRequest> = {}) => {
    const request = { tenant: 'acme', role: 'Editor', sub: 'u1', ...who }
    const name = JSON.stringify(request)
    const known = tokens.get(name) ?? issueToken(request)
    tokens.set(name, known)
    return known
  }
  return {
    ...service,
    enginePid: engine.pid,
    token,
    stop: () => engine.stop(),
    async send(path, { method = 'GET', as = {}, headers = {}, body } = {}) {
      const answer = await fetch(`${service.base_url}${path}`, {
        method,
        headers: {
          ...(as && { Authorization: `Bearer ${await token(as)}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, text, json: parsed(text) }
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
