import type { Position } from '#shared/platform/listing/cursor.ts'
import { parseListQuery } from '#shared/platform/listing/list-query.ts'
import type { ListRead } from '#shared/platform/listing/read-index.ts'
import { readPage } from '#shared/platform/listing/read-page.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { localSettings } from '#test/support/settings.ts'
import { CodeStore, codeListing, type StoredCode } from './code-list.ts'

/** The creation time of the first code of a store, in milliseconds since 1970. */
export const start = Date.parse('2026-03-01T00:00:00.000Z')
export const sorts = ['code.asc', 'code.desc', 'id.asc', 'id.desc']

const settings = { ...localSettings, 'lists.offsetPaging': ['codes.list' as const] }

export interface Shown {
  ids: string[]
  next: Position | undefined
  prev: Position | undefined
}

/** The pages of a store's codes, read without a request, so every budget can be set. */
export function pagesOf(
  store: CodeStore,
  query: Record<string, string>,
  given: Partial<ListRead> = {},
): ListRead {
  return {
    table: store.table,
    tenant: store.tenant,
    shards: 1,
    listing: codeListing,
    query: parseListQuery(Object.entries(query), codeListing, 'codes.list', true, settings),
    searchFields: [],
    now: start + 100,
    readBudget: 1000,
    byteBudget: 1_000_000,
    sizeOf: () => 300,
    ...given,
  }
}

/** Reads a page with a bounded number of requests, so that a loop that does not end fails. */
export async function read(pages: ListRead, position?: Position): Promise<Shown> {
  let left = 100
  const table = new Proxy(pages.table, {
    get(target, name: keyof Table) {
      left -= 1
      if (left < 0) throw new Error('one page takes more than a hundred requests')
      return target[name]
    },
  })
  const { items, next, prev } = await readPage({ ...pages, table }, position)
  return { ids: items.map(({ sk }) => sk), next, prev }
}

/** Returns the pages after this one in a direction. */
export async function rest(pages: ListRead, from: Shown, direction: 'next' | 'prev'): Promise<Shown[]> {
  const seen: Shown[] = []
  for (let position = from[direction]; position; position = seen.at(-1)?.[direction]) {
    seen.push(await read(pages, position))
    if (seen.length > 100) throw new Error('the session does not end')
  }
  return seen
}

/** Creates codes of a new tenant, one for each millisecond. */
export async function fill(
  table: Table,
  count: number,
  codeOf: (n: number) => string,
  given: (n: number) => Partial<StoredCode> = () => ({}),
): Promise<{ store: CodeStore; codes: StoredCode[] }> {
  const store = new CodeStore(table, newTenant())
  const numbers = Array.from({ length: count }, (_, n) => n)
  const codes = await Promise.all(numbers.map((n) => store.add(start + n, codeOf(n), given(n))))
  return { store, codes: codes as StoredCode[] }
}

let tenants = 0

export function newTenant(): string {
  tenants += 1
  return `tenant-${tenants}`
}

export function sorted(codes: readonly StoredCode[], sort: string): StoredCode[] {
  const keyOf = ({ code, id }: StoredCode) => (sort.startsWith('code') ? `${code} ${id}` : id)
  return codes.toSorted((a, b) => (keyOf(a) < keyOf(b) === sort.endsWith('asc') ? -1 : 1))
}
