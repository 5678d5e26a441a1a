import { join } from 'node:path'
import { assertPortFree } from './engine.ts'
import { cleanEnvironment, ROOT } from './environment.ts'
import { type Server, StartFailure, startServer } from './process.ts'

const HOST = '127.0.0.1'

/** @throws StartFailure with advice if something already listens on the port. */
export async function assertProviderPortFree(port: number): Promise<void> {
  await assertPortFree(port).catch(() => {
    throw new StartFailure(
      `Port ${port} of the local payment provider is in use: stop the program that uses it, or set another port in refunds.provider of a profile and name the profile with --settings.`,
    )
  })
}

/** The key of the service at the fake provider, which accepts any. */
export const localProviderKey = 'sk_test_local'

/** The events of Stripe that the service handles. */
const events = [
  'refund.created',
  'refund.updated',
  'refund.failed',
  'account.application.deauthorized',
] as const

/**
 * Creates a webhook endpoint at the provider for events of connected accounts, as a deployer does at Stripe.
 * @returns the secret that signs them
 */
export async function createWebhookEndpoint(provider: string, url: string): Promise<string> {
  const body = new URLSearchParams({ url, connect: 'true' })
  for (const [index, type] of events.entries()) body.set(`enabled_events[${index}]`, type)
  const headers = { Authorization: `Bearer ${localProviderKey}` }
  const response = await fetch(`${provider}/v1/webhook_endpoints`, { method: 'POST', headers, body })
  const { secret } = (await response.json()) as { secret: string }
  return secret
}

/**
 * Starts the fake payment provider of the tests in a separate process, with all state in memory. It is started as a
 * command because nothing outside test/ may import from there.
 * @throws StartFailure if it is not ready in time
 */
export function startPaymentProvider({ port, logFile }: { port: number; logFile: string }): Promise<Server> {
  return startServer({
    name: 'The payment provider',
    command: process.execPath,
    args: [join(ROOT, 'test/support/payment-provider/main.ts'), '--port', String(port)],
    env: cleanEnvironment(),
    // It reports that it listens: another process could answer at the port.
    channel: 'ipc',
    endpoint: `http://${HOST}:${port}`,
    logFile,
  })
}
