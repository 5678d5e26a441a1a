import { countRequest } from '../limits/rate-limit.ts'
import { keyedHash } from '../secrets/derived-key.ts'
import { principalOf } from './answer-once.ts'
import type { Passage } from './passage.ts'

/** @throws RATE_LIMIT.exceeded where the deployment limits the operation (setting limits.other) */
export async function checkRate(passage: Passage, tenant: string): Promise<void> {
  const { endpoint, caller, settings, table, clock } = passage
  const { operation } = endpoint.route
  const limit = settings['limits.other'][operation]
  if (!limit) return
  const subject = [operation, caller?.tenant ?? tenant, principalOf(caller)]
  await countRequest(subject, limit, table, clock)
}

/**
 * Counts a request by what its route names (contract, 'Limits'), a replay like any other. Addresses and e-mails are
 * hashed with a key of the deployment before they are stored, as there are few enough of them to try them all.
 * @param body as parsed, so that one e-mail counts as one however it is written
 * @throws RATE_LIMIT.exceeded
 */
export async function checkThrottle(passage: Passage, body: unknown): Promise<void> {
  const { endpoint, request, runtime, settings, table, clock, budget } = passage
  const { operation, throttle } = endpoint.route
  if (!throttle) return
  const { by, ...limit } = throttle(settings)
  const fields = body as Readonly<Record<string, unknown>>
  const named = by.map((one) =>
    String(one === 'source' ? request.sourceAddress : fields[one.slice('body.'.length)]),
  )
  const subject = [operation, keyedHash(await runtime.derivedKey('throttles v1', budget), ...named)]
  await countRequest(subject, limit, table, clock)
}
