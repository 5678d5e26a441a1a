import * as v from 'valibot'
import { timestamp } from '#shared/platform/base/clock.ts'
import { parseListQuery, type RouteListing } from '#shared/platform/listing/list-query.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { listDecision, listEnvelope } from '#shared/platform/request/list-decision.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { type Item, type Key, keyOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { idAt } from '#test/support/ids.ts'

/** A list of codes with all options of a listing. */
export const codeListing: RouteListing = {
  parse: parseListQuery,
  entity: 'code',
  fields: {
    id: 'string',
    code: 'string',
    type: 'string',
    state: 'string',
    soft_deleted: 'boolean',
    uses: 'integer',
    created_at: 'date-time',
  },
  allowed: () => ({ state: ['active', 'archived', 'soft_deleted'] }),
  search: () => ['type'],
  normalize: {
    code: (text) => {
      const stored = text.trim().toUpperCase()
      return /^[A-Z0-9-]{1,16}$/.test(stored) ? stored : undefined
    },
    state: (text) => text.toLowerCase(),
  },
  reveals: ({ field, values }) =>
    (field === 'soft_deleted' && values.includes(true)) ||
    (field === 'state' && values.includes('soft_deleted')),
  orders: { code: { entity: 'code_lock', idOf: (lock) => String(lock.code_id) } },
}

const route = defineRoute({
  operation: 'codes.list',
  method: 'GET',
  path: '/tests/codes',
  summary: '',
  description: '',
  auth: 'bearer',
  access: 'list',
  idempotency: 'none',
  listing: codeListing,
  reply: { status: () => 200, schema: () => listEnvelope('List', v.unknown()), etag: true },
  errors: [],
  uses: ['secret.cursors'],
  table: { get: ['code_lock'], getMany: ['code'], query: ['code', 'code_lock'] },
  impact: '',
})

export const codeList = defineEndpoint(route, {
  decide: (input, context) =>
    listDecision(route, input, context, {
      resource: { viewOf: (view) => view, shown: (view) => view },
      stored: ({ pk: _, sk: __, ...view }) => view as object,
    }),
})

export interface StoredCode {
  id: string
  code: string
  type: string
  state: string
  soft_deleted: boolean
  uses: number
  created_at: string
  version: number
}

/** The codes of one tenant, each stored with its uniqueness lock in one transaction, like the service does. */
export class CodeStore {
  readonly tenant: string
  readonly table: Table
  readonly #shards: number

  constructor(table: Table, tenant: string, shards = 1) {
    this.table = table
    this.tenant = tenant
    this.#shards = shards
  }

  /** @param milliseconds since 1970: the time in its id. @returns undefined if the text is taken */
  async add(
    milliseconds: number,
    code: string,
    given: Partial<StoredCode> = {},
  ): Promise<StoredCode | undefined> {
    const id = idAt(milliseconds, undefined, this.#shards)
    const created_at = timestamp(milliseconds)
    const defaults = { type: 'percent', state: 'active', soft_deleted: false, uses: 0, version: 1 }
    const stored = { ...defaults, id, code, created_at, ...given }
    const refusal = await this.table.transact([
      { item: this.#item(stored), condition: { absent: true } },
      { item: this.#lock(stored, code), condition: { absent: true } },
    ])
    return refusal ? undefined : stored
  }

  /** @param aside whether its text becomes free for another code */
  async softDelete(code: StoredCode, aside: boolean): Promise<void> {
    const key = await this.#lockKey(code)
    await this.#change(code, { state: 'soft_deleted', soft_deleted: true })
    if (aside) await this.#moveLock(code, key, `${code.code}#${code.id}`)
  }

  /** @returns whether its text was free or its own */
  async restore(code: StoredCode): Promise<boolean> {
    const key = await this.#lockKey(code)
    if (!(await this.#moveLock(code, key, code.code))) return false
    await this.#change(code, { state: 'active', soft_deleted: false })
    return true
  }

  async remove(code: StoredCode): Promise<void> {
    const { pk, sk } = this.#item(code)
    const matches = { code_id: code.id }
    await this.table.transact([
      { remove: { pk, sk }, condition: { matches: { id: code.id } } },
      { remove: await this.#lockKey(code), condition: { matches } },
    ])
  }

  async #change(code: StoredCode, changes: Partial<StoredCode>): Promise<void> {
    const condition = { matches: { version: code.version } }
    Object.assign(code, changes, { version: code.version + 1 })
    await this.table.put({ item: this.#item(code), condition })
  }

  async #moveLock(code: StoredCode, from: Key, to: string): Promise<boolean> {
    const lock = this.#lock(code, to)
    if (lock.sk === from.sk) return true
    const refusal = await this.table.transact([
      { remove: from, condition: { matches: { code_id: code.id } } },
      { item: lock, condition: { absent: true } },
    ])
    return !refusal
  }

  async #lockKey(code: StoredCode): Promise<Key> {
    const { pk, sk } = this.#lock(code, code.code)
    const held = await this.table.get({ pk, sk })
    if (held?.code_id === code.id) return { pk, sk }
    const aside = this.#lock(code, `${code.code}#${code.id}`)
    return { pk: aside.pk, sk: aside.sk }
  }

  #item(code: StoredCode): Item {
    return { ...keyOf(this.tenant, 'code', code.id), ...code }
  }

  #lock({ id }: StoredCode, key: string): Item {
    return { ...keyOf(this.tenant, 'code_lock', key), code_id: id }
  }
}
