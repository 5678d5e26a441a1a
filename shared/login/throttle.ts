import type { RateLimit, Throttle } from '../platform/request/route.ts'
import type { Settings } from '../settings/register.ts'

/** Returns one throttle for each counting rule of the deployment. */
export function throttlesBy(countBy: Settings['login.countBy'], { limit, ...window }: RateLimit): Throttle[] {
  return countBy.map(({ by, times }) => ({
    ...window,
    limit: limit * times,
    by: by === 'source' ? ['source'] : ['source', 'body.email'],
  }))
}
