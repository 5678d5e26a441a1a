import type { ServiceFile } from '#bin/local/service-file.ts'
import { type ServedSite, serveSite } from '#bin/reference/serve.ts'
import { referenceSite } from '#bin/reference/site.ts'
import { loadSettings } from '#bin/settings-file.ts'

/**
 * Serves the pages for API consumers at the first origin on this machine from which the profile lets browsers call.
 * @returns undefined, after printing why, if there is no such origin or its port is in use; the service runs anyway
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
