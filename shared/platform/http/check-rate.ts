import { principalOf } from '../auth/caller.ts'
import { type Counter, countRequest, uncountRequest } from '../limits/rate-limit.ts'
import { sourceOf } from '../limits/source.ts'
import { keyedHash } from '../secrets/derived-key.ts'
import type { Checked } from './endpoint.ts'
import type { Passage } from './passage.ts'

/** A counted request. Undoing is best effort: a counter that stays costs its caller one request of the window. */
export interface Counted {
  /** Removes the request from the counters of failures. */
  succeed(): Promise<void>
  /** Removes the request from all counters. */
  undo(): Promise<void>
}

/** Returns whether requests of the route are counted. */
export function isThrottled({ endpoint, settings }: Passage): boolean {
  const { operation, throttle } = endpoint.route
  return throttle !== undefined || settings['limits.other'][operation] !== undefined
}

/**
 * Counts a request by all limits of its route: those of the route and those of the setting limits.other.
 * @throws RATE_LIMIT.exceeded; the request is then counted nowhere
 */
export async function checkRate(passage: Passage, checked: Checked<unknown>): Promise<Counted> {
  const { table, clock } = passage
  const counters = [...limitedByDeployment(passage, checked), ...(await limitedByRoute(passage, checked))]
  const countedAt = await countRequest(counters, table, clock)
  const remove = async (from: readonly Counter[]) => {
    for (const { subject } of from) await uncountRequest(subject, countedAt, table).catch(() => undefined)
  }
  return {
    succeed: () => remove(counters.filter(({ failuresOnly }) => failuresOnly)),
    undo: () => remove(counters),
  }
}

function limitedByDeployment(
  { endpoint, caller, settings }: Passage,
  { scope }: Checked<unknown>,
): Counter[] {
  const { operation } = endpoint.route
  const limit = settings['limits.other'][operation]
  const subject = [operation, caller?.tenant ?? scope.tenant, principalOf(caller)]
  return limit ? [{ ...limit, subject }] : []
}

/**
 * Hashes addresses and e-mails with a key of the deployment, because a plain hash of them can be reversed by trial.
 */
async function limitedByRoute(
  { endpoint, request, runtime, settings, budget }: Passage,
  { body }: Checked<unknown>,
): Promise<Counter[]> {
  const { operation, throttle } = endpoint.route
  if (!throttle) return []
  const key = await runtime.derivedKey('throttles v1', budget)
  const fields = body as Readonly<Record<string, unknown>>
  return throttle(settings).map(({ by, shared = operation, ...limit }) => {
    const values = by.map((one) =>
      String(one === 'source' ? sourceOf(request) : fields[one.slice('body.'.length)]),
    )
    return { ...limit, subject: [shared, keyedHash(key, ...values)] }
  })
}
