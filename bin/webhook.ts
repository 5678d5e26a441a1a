import { createHmac, randomUUID } from 'node:crypto'
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { webhookKeys } from '#shared/platform/identity/signature.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { printLine } from './command.ts'
import { type DeployedStack, outputOf, stackCommand } from './deployment.ts'
import { loadSettings } from './settings-file.ts'

const usage = `usage: npm run -s webhook -- --type TYPE --id ID [--tenant T] [--data JSON]
  [--event-id ID] [--occurred-at TIME] [--settings FILE] [--stack NAME] [--url URL]
Sends a signed event as another service would, and prints the status and the event_id. --id is data.id; --data holds the
other fields of data.
Example: --type cart.updated --id cart-1 --tenant acme --data '{"amount_minor":5000,"currency":"EUR"}'`

/** Returns the key that signs webhooks: the first one in the secret of a deployment. */
export async function signingKey({ outputs, access }: DeployedStack): Promise<Buffer> {
  const secrets = new SecretsManagerClient(access)
  const SecretId = outputOf({ outputs, access }, 'WebhooksSecretArn')
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }))
  return webhookKeys(SecretString)[0] as Buffer
}

if (import.meta.main) {
  const event = { type: 'required', id: 'required', tenant: 'optional', data: 'optional' } as const
  const other = { 'event-id': 'optional', 'occurred-at': 'optional' } as const
  const options = { ...event, ...other, settings: 'optional', url: 'optional' } as const
  await stackCommand(usage, options, async ({ type, id, tenant, data, ...values }, stack) => {
    const event_id = values['event-id'] ?? randomUUID()
    const body = JSON.stringify({
      event_id,
      type,
      occurred_at: values['occurred-at'] ?? new Date().toISOString(),
      data: { id, ...(tenant !== undefined && { tenant_id: tenant }), ...JSON.parse(data ?? '{}') },
    })
    const settings = await loadSettings(values.settings)
    const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signed = createHmac(digest, await signingKey(stack)).update(`${event_id}.${timestamp}.${body}`)
    const baseUrl = (values.url ?? outputOf(stack, 'BaseUrl')).replace(/\/$/, '')
    const response = await fetch(`${baseUrl}${pathOf(receiveEvent, settings)}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        [idHeader]: event_id,
        [timestampHeader]: timestamp,
        [signatureHeader]: `${prefix}${signed.digest('base64')}`,
      },
      body,
    })
    printLine({ status: response.status, event_id })
    if (!response.ok) throw new Error(await response.text())
  })
}
