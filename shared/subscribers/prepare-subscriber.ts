import * as v from 'valibot'
import { literalAddress } from '../platform/formats/public-address.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { newSecret, resealSecret, type SecretOwner, sealSecret } from './signing-secret.ts'
import { SubscriberInput, wants } from './subscriber.ts'
import { mayReach } from './subscriber-address.ts'

/** What a command asks for. Each part is independent of the others. */
export interface Preparation {
  /** Fields of a subscriber to check. */
  check?: { url?: string; events?: readonly string[] }
  /** The subscriber that gets a new secret. */
  issue?: SecretOwner
  /** Secrets to seal with the current version of the key. */
  reseal?: readonly { owner: SecretOwner; sealed: string }[]
}

/** What a command needs to know of the deployment. A secret is only ever returned when it is new. */
export interface Prepared {
  /** Why the fields are not valid, in a sentence. Nothing else is done then. */
  rejection?: string
  issued?: { secret: string; sealed: string }
  /** In the order of `reseal`; null for a secret that cannot be opened. */
  resealed: (string | null)[]
  settings: Pick<
    Settings,
    'deliveries.retentionDays' | 'subscribers.maxPerTenant' | 'subscribers.secretOverlapSeconds'
  >
}

interface Context extends Pick<WorkContext, 'settings' | 'clock' | 'versionedKey'> {
  /** Returns all addresses of a name. */
  resolve(name: string): Promise<string[]>
  /** The types of all published events. */
  eventTypes: readonly string[]
}

/** Checks the fields of a subscriber, and makes and seals secrets. Stores nothing. */
export async function prepareSubscriber(
  { check = {}, issue, reseal = [] }: Preparation,
  context: Context,
): Promise<Prepared> {
  const { settings, clock } = context
  const prepared: Prepared = {
    resealed: [],
    settings: {
      'deliveries.retentionDays': settings['deliveries.retentionDays'],
      'subscribers.maxPerTenant': settings['subscribers.maxPerTenant'],
      'subscribers.secretOverlapSeconds': settings['subscribers.secretOverlapSeconds'],
    },
  }
  const rejection = await rejectionOf(check, context)
  if (rejection !== undefined) return { ...prepared, rejection }
  for (const { owner, sealed } of reseal) prepared.resealed.push(await resealSecret(sealed, owner, context))
  if (!issue) return prepared
  const secret = newSecret(clock.randomBytes)
  return { ...prepared, issued: { secret, sealed: await sealSecret(secret, issue, context) } }
}

async function rejectionOf(
  input: NonNullable<Preparation['check']>,
  { settings, resolve, eventTypes }: Context,
): Promise<string | undefined> {
  const parsed = v.safeParse(v.partial(SubscriberInput(settings)), input)
  if (!parsed.success) {
    const [{ message }] = parsed.issues
    return `${v.getDotPath(parsed.issues[0])}: ${message}`
  }
  const { url, events = [] } = parsed.output
  const problem = eventsProblem(events, eventTypes)
  if (problem !== undefined || url === undefined) return problem
  return addressProblem(new URL(url), { settings, resolve })
}

/** Returns a sentence about the patterns that match no event; undefined if all match one. */
export function eventsProblem(events: readonly string[], eventTypes: readonly string[]): string | undefined {
  const unknown = events.filter((pattern) => !eventTypes.some((type) => wants({ events: [pattern] }, type)))
  return unknown.length === 0
    ? undefined
    : `no event matches ${unknown.join(', ')}. The events are: ${eventTypes.join(', ')}`
}

/** Each attempt checks the addresses again; this check tells the operator at once. */
async function addressProblem(
  url: URL,
  { settings, resolve }: { settings: Settings; resolve: Context['resolve'] },
): Promise<string | undefined> {
  if (literalAddress(url) !== undefined) return undefined
  const addresses = await resolve(url.hostname).catch(() => [])
  if (addresses.length === 0) return `url: the name ${url.hostname} has no address`
  const isReachable = addresses.every((address) => mayReach(address, settings))
  return isReachable ? undefined : `url: the name ${url.hostname} has an address that is not public`
}
