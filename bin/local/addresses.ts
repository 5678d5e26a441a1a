import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { makePrivateDirectory } from './environment.ts'

const providerHost = '127.0.0.1'
const pagesOrigin = /^http:\/\/localhost:(\d+)$/

/** The addresses of this machine in a profile. */
interface Addresses {
  /** The port where the profile expects the payment provider; undefined if it is elsewhere. */
  providerPort: number | undefined
  /** The origin of the pages: the first one on this machine from which browsers may call the API. */
  pages: string | undefined
  /** The origins whose pages may call the API. */
  origins: string[]
}

/** Reads the addresses in a profile. It has none if it is invalid: synthesis reports that in full. */
export async function addressesIn(settings: string): Promise<Addresses> {
  const values = await profileIn(settings)
  const provider = URL.parse(String(values['refunds.provider']?.endpoint))
  const isLocal = provider?.protocol === 'http:' && provider.hostname === providerHost
  const allowed = values['cors.allowedOrigins']
  const origins: string[] = Array.isArray(allowed) ? allowed.map(String) : []
  return {
    providerPort: isLocal ? Number(provider.port || 80) : undefined,
    pages: origins.find((origin) => pagesOrigin.test(origin)),
    origins,
  }
}

/** Returns the values of a profile; none if it is no JSON. */
// biome-ignore lint/suspicious/noExplicitAny: a profile that nobody has validated
export async function profileIn(settings: string): Promise<Record<string, any>> {
  const text = await readFile(settings, 'utf8').catch(() => '')
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/**
 * Gives the payment provider and the pages free ports: those of the profile, or the next free ones.
 * @param options.moved whether they are the next ones after `port` instead, as --port asks
 * @returns the path of the profile, or of a copy with the other ports
 */
export async function withFreePorts(
  settings: string,
  options: { port: number; moved: boolean; directory: string },
): Promise<string> {
  const { port, moved, directory } = options
  const { providerPort, pages, origins } = await addressesIn(settings)
  const values = await profileIn(settings)
  const taken = new Set([port])
  const free = async (wanted: number, host: string) => {
    const found = await nextFreePort(moved ? port + 1 : wanted, host, taken)
    taken.add(found)
    return found
  }
  let changed = false
  if (providerPort !== undefined) {
    const found = await free(providerPort, providerHost)
    changed ||= found !== providerPort
    values['refunds.provider'].endpoint = `http://${providerHost}:${found}`
  }
  if (pages !== undefined) {
    const found = `http://localhost:${await free(Number(new URL(pages).port), 'localhost')}`
    changed ||= found !== pages
    values['cors.allowedOrigins'] = [found, ...origins.filter((origin) => origin !== found)]
    const docs = values['errors.docs']
    if (String(docs).startsWith(`${pages}/`)) values['errors.docs'] = found + docs.slice(pages.length)
  }
  if (!changed) return settings
  makePrivateDirectory(directory)
  const copy = join(directory, 'profile.json')
  await writeFile(copy, JSON.stringify(values, null, 2))
  return copy
}

/** Returns the first free port from this one on that is not in `taken`. */
async function nextFreePort(first: number, host: string, taken: ReadonlySet<number>): Promise<number> {
  for (let port = first; port < 65_536; port += 1)
    if (!taken.has(port) && (await isFree(port, host))) return port
  throw new Error(`no port from ${first} on is free`)
}

export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
