import { isDeepStrictEqual } from 'node:util'
import type { Budget } from '../platform/base/clock.ts'
import { ReportableError } from '../platform/base/failure.ts'
import { noKey } from '../platform/base/secrets.ts'
import type { Runtime } from '../platform/request/context.ts'

/**
 * Calls the service as its callers do: first its health, then one page of the orders of the API key's tenant. Logs and
 * counts the result.
 * @param address the public address of the API; its path ends with a slash
 */
export async function probe(
  address: string,
  { settings, secret, log }: Pick<Runtime, 'settings' | 'secret' | 'log'>,
  budget: Budget,
): Promise<void> {
  try {
    const health = await read('health', {}, budget)
    if (!isDeepStrictEqual(health, settings['health.body'])) throw failed('health', 'another body')
    // The key is sent only to an address that answers like the service.
    const key = await secret('probe', budget)
    if (key !== noKey) {
      const orders = await read('v1/orders?page_size=1', { [settings['auth.apiKeyHeader']]: key }, budget)
      if (!isPage(orders)) throw failed('v1/orders', 'another body')
    }
    log.probed()
  } catch (thrown) {
    log.probed(thrown)
  }

  /** Returns the parsed body of a response with status 200. */
  async function read(path: string, headers: Record<string, string>, { signal }: Budget): Promise<unknown> {
    const [name = ''] = path.split('?')
    try {
      const response = await fetch(new URL(path, address), {
        // An open connection would hide a loss of DNS or of the certificate. The web ACL blocks calls without an agent.
        headers: { ...headers, 'User-Agent': 'commerce-probe', Connection: 'close' },
        redirect: 'manual',
        signal,
      })
      if (response.status !== 200) throw failed(name, `status ${response.status}`)
      return JSON.parse(await response.text())
    } catch (thrown) {
      throw thrown instanceof ReportableError ? thrown : failed(name, reasonOf(thrown))
    }
  }
}

function isPage(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'data' in body && Array.isArray(body.data)
}

function failed(path: string, reason: string): ReportableError {
  return new ReportableError(`${path}: ${reason}`)
}

/** Returns such as ENOTFOUND or CERT_HAS_EXPIRED, or the name of the error. Messages may quote the response. */
function reasonOf(thrown: unknown): string {
  const { name, cause } = thrown as { name?: string; cause?: { code?: string } }
  return cause?.code ?? name ?? typeof thrown
}
