import { createHmac, randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { webhookKeys } from '#shared/platform/identity/signature.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { needed, run } from './command.ts'
import { type DeployedStack, deployedStack, outputOf, stackUsage } from './deployment.ts'
import { loadSettings, localProfile } from './settings-file.ts'
import { readWebhookSecret } from './webhook-secret.ts'

const usage = `usage: npm run -s webhook -- --type TYPE --id ID [--tenant T] [--data JSON]
  [--event-id ID] [--occurred-at TIME] [--settings FILE] [--stack NAME] [--url URL]
Sends a signed event, as another service would: --id is data.id, --data is put beside it. Prints status and event_id.
For instance --type cart.updated --id cart-1 --tenant acme --data '{"amount_minor":5000,"currency":"EUR"}'.
${stackUsage}`

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      type: text,
      id: text,
      tenant: text,
      data: text,
      'event-id': text,
      'occurred-at': text,
      settings: text,
      stack: text,
      url: text,
    },
  })
  const event = {
    event_id: values['event-id'] ?? randomUUID(),
    type: needed(values.type, 'type'),
    occurred_at: values['occurred-at'] ?? new Date().toISOString(),
    data: {
      id: needed(values.id, 'id'),
      ...(values.tenant !== undefined && { tenant_id: values.tenant }),
      ...JSON.parse(values.data ?? '{}'),
    },
  }
  const stack = await deployedStack(values.stack)
  const settings = await loadSettings(values.settings ?? localProfile, 'local')
  const body = JSON.stringify(event)
  const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac(digest, await signingKey(stack))
    .update(`${event.event_id}.${timestamp}.${body}`)
    .digest('base64')
  const base = values.url ?? outputOf(stack, 'BaseUrl')
  const answer = await fetch(`${base.replace(/\/$/, '')}${pathOf(receiveEvent, settings)}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      [idHeader]: event.event_id,
      [timestampHeader]: timestamp,
      [signatureHeader]: `${prefix}${signature}`,
    },
    body,
  })
  console.log(JSON.stringify({ status: answer.status, event_id: event.event_id }))
  if (!answer.ok) throw new Error(await answer.text())
}

async function signingKey(stack: DeployedStack): Promise<Buffer> {
  const secret = await readWebhookSecret(outputOf(stack, 'WebhooksSecretArn'), stack.access)
  return webhookKeys(secret)[0] as Buffer
}

if (import.meta.main) await run(usage, main)
