import { startConsole } from '../../console/server.ts'
import { stageSource } from '../../console/stage.ts'
import { type ServedSite, serveSite } from '../../describe/reference/site.ts'
import type { DeployedStack } from '../stack/deployment.ts'

/**
 * Serves the console of a stack to this machine only.
 * @returns the link that opens it, with the token of this start
 */
export async function serveConsole(
  name: string,
  stack: DeployedStack,
  port: number,
): Promise<Pick<ServedSite, 'stop'> & { link: string }> {
  const { page, answer, token } = startConsole(stageSource(name, stack))
  const { url, stop } = await serveSite(await page(), `http://127.0.0.1:${port}`, undefined, answer).catch(
    (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EADDRINUSE') throw thrown
      throw new Error(`the port ${port} is in use: choose another with --port`)
    },
  )
  // Browsers send a fragment to no server, and no page sends it on as its referrer.
  return { link: `${url}console.html#token=${token}`, stop }
}
