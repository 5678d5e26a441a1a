import type { Stage } from '#lib/stage.ts'

const ofThisMachine = /^https?:\/\/(localhost|[\w.-]+\.localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?=[:/]|$)/i

/**
 * What is wrong with a profile that was written for this machine, on a stage that is elsewhere: a payment provider or an
 * issuer there would be whoever sits beside the function.
 * @returns a line for each setting that names such an address
 */
export function localAddresses(profile: unknown, { name, callableFromLocalhost }: Stage): string[] {
  return Object.entries(profile ?? {})
    .filter(([key]) => !(key === 'cors.allowedOrigins' && callableFromLocalhost))
    .flatMap(([key, value]) => {
      const addresses = stringsIn(value).filter((text) => ofThisMachine.test(text))
      return addresses.length === 0
        ? []
        : [`  ${key}: ${addresses.join(', ')} is on this machine; stage ${name} is not.`]
    })
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
