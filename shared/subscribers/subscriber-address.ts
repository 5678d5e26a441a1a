import { lookup as lookUp } from 'node:dns/promises'
import { internet, type Network } from '../platform/formats/fetch-file.ts'
import { isPublicAddress, literalAddress, publicUrl, urlOf } from '../platform/formats/public-address.ts'
import type { Settings } from '../settings/register.ts'

const loopback = /^(127(\.\d{1,3}){3}|::1)$/

/** Returns whether a subscriber may have this URL, as deliveries.addresses says. */
export function isSubscriberUrl(text: string, settings: Settings): boolean {
  const url = urlOf(text)
  if (url?.username !== '' || url.password !== '') return false
  if (isLoopbackUrl(url, settings)) return url.protocol === 'http:' || url.protocol === 'https:'
  return publicUrl(url)
}

/** Returns whether a connection to an address is permitted. It is checked again for each attempt, as names move. */
export function mayReach(address: string, settings: Settings): boolean {
  return isPublicAddress(address) || (allowsLoopback(settings) && loopback.test(address))
}

/** Returns how names are resolved. Where loopback is allowed, also names that only the machine knows, as `localhost`. */
export function subscriberResolver(settings: Settings): Network['resolve'] {
  if (!allowsLoopback(settings)) return internet.resolve
  return async (name) => (await lookUp(name, { all: true })).map(({ address }) => address)
}

function isLoopbackUrl(url: URL, settings: Settings): boolean {
  const host = literalAddress(url) ?? url.hostname
  return allowsLoopback(settings) && (host === 'localhost' || loopback.test(host))
}

function allowsLoopback(settings: Settings): boolean {
  return settings['deliveries.addresses'] === 'public_and_loopback'
}
