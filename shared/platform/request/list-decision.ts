import * as v from 'valibot'
import { openPoint } from '../../settings/per-settings.ts'
import { Failure } from '../base/failure.ts'
import type { Resource } from '../base/resource.ts'
import type { Decision } from '../idempotency/decision.ts'
import { cursorSeal, sessionHash } from '../listing/cursor.ts'
import { sortText } from '../listing/listing.ts'
import type { ListRead } from '../listing/read-index.ts'
import { readPage } from '../listing/read-page.ts'
import { type Item, shardsOf } from '../table/keys.ts'
import type { RequestContext } from './context.ts'
import { type Input, ok } from './endpoint.ts'
import { weakEntityTag } from './parse-headers.ts'
import type { Route } from './route.ts'
import { limitedSearch, type SearchContext } from './search-limit.ts'

/** Bytes reserved for the envelope, cursors and links of a response. */
const envelopeBytes = 4096

/** Returns the response schema of a list. @param name its name in the API description */
export function listEnvelope<Schema extends v.GenericSchema>(name: string, item: Schema) {
  const fields = {
    data: v.array(item),
    page_size: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
    next_cursor: v.nullable(v.string()),
    prev_cursor: v.nullable(v.string()),
    count: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), openPoint('lists.count'))),
    count_strategy: v.optional(v.picklist(['exact', 'approximate'])),
    sort: v.string(),
  }
  return v.pipe(v.strictObject(fields), v.title(name))
}

/** The resource of a list, and the cast of its items. */
export interface ListedResource<View extends object> {
  resource: Pick<Resource<View>, 'viewOf' | 'shown'>
  stored: (item: Item) => NoInfer<View>
}

type ListBody<View> = v.InferInput<ReturnType<typeof listEnvelope<v.GenericSchema<View>>>>

type Context = SearchContext & Pick<RequestContext, 'settings' | 'derivedKey'>

/**
 * Returns one page of a list within the caller's scope.
 * @throws VALIDATION.cursor.invalid, RATE_LIMIT.exceeded
 */
export async function listDecision<View extends object>(
  route: Route,
  { list: query }: Input,
  context: Context,
  { resource, stored }: ListedResource<View>,
): Promise<Decision<ListBody<View>>> {
  const { listing, operation, payloadKilobytes = 64, replyBytes } = route
  if (!listing || !query) throw new Error(`${operation} is not a list`)
  const { table, settings, scope, clock } = context
  const seal = cursorSeal(await context.derivedKey('cursors'), clock.randomBytes)
  const session = sessionHash(operation, scope.tenant, query)
  const position = query.cursor === undefined ? undefined : seal.open(query.cursor, session)
  const now = clock.now()
  const viewOf = (item: Item) => resource.viewOf(stored(item))
  const list = {
    table,
    tenant: scope.tenant,
    shards: shardsOf(settings, scope.tenant).reads,
    listing,
    query,
    searchFields: listing.search(settings),
    now,
    readBudget: settings['lists.readBudget'],
    byteBudget: (replyBytes?.(settings) ?? payloadKilobytes * 1024) - envelopeBytes,
    sizeOf(item: Item) {
      return Buffer.byteLength(JSON.stringify(resource.shown(viewOf(item), settings))) + 1
    },
  }
  const { page, counted } = await limitedSearch(operation, context, async (beforeMore) => {
    const page = await readPage({ ...list, beforeMore }, position)
    const counted = settings['lists.count'] === 'exact' ? await countOf({ ...list, beforeMore }) : null
    return { page, counted }
  })
  // The snapshot includes this millisecond, so inserts after this response must fall into a later one.
  while (!position && clock.now() === now) await clock.sleep(1)
  const body: ListBody<View> = {
    data: page.items.map(viewOf),
    page_size: query.pageSize,
    next_cursor: page.next ? seal.seal(page.next, session) : null,
    prev_cursor: page.prev ? seal.seal(page.prev, session) : null,
    count: counted,
    ...(counted !== null && { count_strategy: 'exact' }),
    sort: sortText(query),
  }
  const items = page.items.map((item) => [item.sk, item.version, resource.shown(viewOf(item), settings)])
  const keys = [page.prev?.start, page.next?.start, page.newest]
  // The cursors differ in each response, so the tag is weak and covers what they stand for.
  return ok(body, { etag: weakEntityTag([session, query.pageSize, items, keys, counted]) })
}

/** Returns the number of matches, or null if the read budget, or what the caller may read, is too small to count them. */
async function countOf(list: ListRead): Promise<number | null> {
  // The order does not affect the count, and the newest ids first cost least.
  const query = { ...list.query, sortedBy: undefined, descending: true, pageSize: list.readBudget, offset: 0 }
  const all = { ...list, query, byteBudget: Number.POSITIVE_INFINITY, sizeOf: () => 0 }
  try {
    const page = await readPage(all)
    return page.next ? null : page.items.length
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.code === 'RATE_LIMIT.exceeded') return null
    throw thrown
  }
}
