import { type Code, makeCode } from '#shared/codes/code.ts'
import { createCode as writesOf } from '#shared/codes/code-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { withQuery } from '#test/support/examples.ts'
import { outcome } from '#test/support/outcome.ts'
import type { Answer, Service } from '#test/support/service.ts'
import { type Identity, localSettings } from '#test/support/settings.ts'

/** Additional headers and query parameters of a call. */
export interface Extra {
  headers?: Record<string, string>
  query?: Record<string, string>
}

const as =
  (role: string) =>
  (tenant: string): Identity => ({ tenant, role, sub: `${role}-1`, scope: 'codes:read codes:write' })
export const viewer = as('Viewer')
export const editor = as('Editor')
export const admin = as('Admin')

let codes = 0
/** Returns the body of a valid create with a unique code. */
export function validCode(changes: Record<string, unknown> = {}) {
  codes += 1
  const rest = { type: 'percent-10', name: 'Ten off', expiry_at: '2099-01-01T00:00:00.000Z' }
  return { code: `CODE-${codes}`, ...rest, ...changes }
}

export type CodeCalls = ReturnType<typeof codeCalls>

/**
 * Returns the operations on codes. A POST gets a new Idempotency-Key unless the call has one.
 * @param always the headers and parameters of every call
 */
export function codeCalls(service: Service, always: Extra = {}) {
  const send = (method: string, path: string, who: Identity, extra: Extra = {}, body?: unknown) =>
    service.call({
      method,
      path: withQuery(path, { ...always.query, ...extra.query }),
      as: who,
      headers: {
        ...(method === 'POST' && { 'Idempotency-Key': crypto.randomUUID() }),
        ...always.headers,
        ...extra.headers,
      },
      ...(body !== undefined && { body }),
    })
  return {
    send,
    create: (who: Identity, body: unknown = validCode(), extra?: Extra) =>
      send('POST', '/codes', who, extra, body),
    read: (who: Identity, id: string, extra?: Extra) => send('GET', `/codes/${id}`, who, extra),
    list: (who: Identity, query: Record<string, string> = {}) => send('GET', '/codes', who, { query }),
    update: (who: Identity, id: string, ifMatch: string | undefined, body: unknown, extra: Extra = {}) => {
      const headers = { ...(ifMatch !== undefined && { 'If-Match': ifMatch }), ...extra.headers }
      return send('PATCH', `/codes/${id}`, who, { ...extra, headers }, body)
    },
    softDelete: (who: Identity, id: string, extra?: Extra) => send('DELETE', `/codes/${id}`, who, extra),
    hardDelete: (who: Identity, id: string, reason: string | undefined, extra: Extra = {}) => {
      const { header } = service.settings['codes.hardDeleteReason']
      const headers = { ...(reason !== undefined && { [header]: reason }), ...extra.headers }
      return send('DELETE', `/codes/${id}`, who, { query: { force: 'true', ...extra.query }, headers })
    },
    restore: (who: Identity, id: string, extra?: Extra) => send('POST', `/codes/${id}:restore`, who, extra),
    share: (who: Identity, id: string, grantee: string, extra?: Extra) =>
      send('POST', `/codes/${id}:share`, who, extra, { grantee_tenant: grantee }),
    bulkUpdate: (who: Identity, items: unknown, extra?: Extra) =>
      send('POST', '/codes:bulkUpdate', who, extra, { items }),
    importFile: (who: Identity, file: string, { headers, ...extra }: Extra = {}) =>
      send(
        'POST',
        '/codes:import',
        who,
        { ...extra, headers: { 'Content-Type': 'text/csv', ...headers } },
        file,
      ),
    exportFile: (who: Identity, query: Record<string, string> = {}, method = 'GET') =>
      send(method, '/codes:export', who, { query }),
  }
}

/** Creates a code as an Editor of a tenant. */
export async function made(calls: CodeCalls, tenant: string, changes: Record<string, unknown> = {}) {
  const answer = await calls.create(editor(tenant), validCode(changes))
  if (answer.status !== 201) throw new Error(answer.body)
  return { id: answer.json.id as string, etag: answer.headers.ETag ?? '', json: answer.json }
}

/** Returns a new code, also one that these settings cannot create, such as an archived one. Its text is unique. */
export function codeOf(tenant: string, changes: Partial<Code> = {}, clock = systemClock): Code {
  const origin = { id: newId(clock), tenant, createdBy: 'jane@example.com' }
  return { ...makeCode(validCode(), origin, localSettings), ...changes }
}

/** Stores codes of any number. @returns them, oldest first */
export async function storeCodes(service: Service, codes: readonly Code[]): Promise<Code[]> {
  for (let from = 0; from < codes.length; from += 50) {
    const writes = codes.slice(from, from + 50).flatMap(writesOf)
    const refusal = await service.table.transact(writes.map(({ onFailure: _, ...change }) => change))
    if (refusal) throw new Error('the code is there already')
  }
  return codes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

export function storeMany(service: Service, tenant: string, count: number): Promise<Code[]> {
  const codes = Array.from({ length: count }, () => codeOf(tenant))
  return storeCodes(service, codes)
}

export async function seeded(service: Service, tenant: string, changes: Partial<Code> = {}): Promise<Code> {
  const code = codeOf(tenant, changes)
  await storeCodes(service, [code])
  return code
}

/** Returns the result of each row of a batch: its status, or its error code if it failed. */
export function resultsOf({ json }: Answer): (number | string)[] {
  return json.items.map(({ status, error }: BatchRow) => error?.code ?? status)
}

interface BatchRow {
  status: number
  error?: { code: string }
}

/** Counts the responses by outcome. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const groups = Map.groupBy(answers, outcome)
  return Object.fromEntries(Array.from(groups, ([kind, { length }]) => [kind, length]))
}

/** Returns the stored code in any state; undefined if there is none. */
export async function stored(service: Service, tenant: string, id: string): Promise<Item | undefined> {
  return (await service.items(tenant, 'code')).find((item) => item.id === id)
}

/** Returns the uniqueness locks of a tenant: the key of each and the id of its code. */
export async function locks(service: Service, tenant: string): Promise<Record<string, unknown>> {
  const items = await service.items(tenant, 'code_lock')
  return Object.fromEntries(items.map(({ sk, code_id }) => [sk, code_id]))
}

/** Returns the audit records of a tenant, oldest first. */
export function audit(service: Service, tenant: string): Promise<Item[]> {
  return service.items(tenant, 'audit')
}
