import type { ServiceFile } from '#bin/local/service-file.ts'
import { type ServedSite, serveSite } from '#bin/reference/serve.ts'
import { referenceSite } from '#bin/reference/site.ts'
import { loadSettings } from '#bin/settings-file.ts'

/**
 * Serves the pages for API consumers at the first origin on this machine that the profile lets browsers call from.
 * @returns undefined, with a word about it, when there is none or its port is taken: the service runs all the same
 */
export async function startReference(
  { base_url }: ServiceFile,
  settingsFile: string,
  token: string | undefined,
): Promise<ServedSite | undefined> {
  const settings = await loadSettings(settingsFile, 'local')
  const origin = settings['cors.allowedOrigins'].find((one) => /^http:\/\/localhost:\d+$/.test(one))
  if (origin === undefined) return undefined
  const site = await referenceSite(settings, { base_url, ...(token !== undefined && { token }) })
  try {
    return await serveSite(site, origin, base_url)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw thrown
    console.log(`The API reference is not served: ${origin} is taken by another program.`)
    return undefined
  }
}
