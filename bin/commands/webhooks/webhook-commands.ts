import { randomUUID } from 'node:crypto'
import {
  type Define,
  parseObject,
  parseTime,
  secretFrom,
  settings,
  settingsOf,
  stack,
  stackOf,
  UsageError,
  url,
  yes,
} from '../../cli/options.ts'
import { confirm, printFields } from '../../cli/output.ts'

/** Defines the commands that send webhooks and manage the secret that signs them. */
export function defineWebhookCommands(define: Define): void {
  defineSend(define)
  defineSecret(define)
}

function defineSend(define: Define): void {
  define(
    'webhook send',
    'Send a signed event, as another service would, and print the status of the response.',
    'webhook send order.paid --id ORDER_ID --tenant acme',
    `webhook send cart.updated --id cart-1 --tenant acme --data '{"amount_minor":5000,"currency":"EUR"}'`,
  )
    .argument('<type>', 'the type, such as order.paid')
    .requiredOption('--id <id>', 'data.id')
    .option('--tenant <name>', 'data.tenant_id')
    .option('--data <json>', 'the other fields of data', parseObject)
    .option('--event-id <id>', 'by default a new one')
    .option('--occurred-at <time>', 'by default now', parseTime)
    .addOption(settings)
    .addOption(url)
    .addOption(stack)
    .action(async (type, { id, tenant, data, eventId, occurredAt, settings, url, stack }) => {
      const { ignoredOf, sendEvent } = await import('./webhook.ts')
      const event = {
        event_id: eventId ?? randomUUID(),
        type,
        occurred_at: (occurredAt ?? new Date()).toISOString(),
        data: { id, ...(tenant !== undefined && { tenant_id: tenant }), ...data },
      }
      const used = await settingsOf(settings)
      const ignored = ignoredOf(event, used)
      if (ignored !== undefined) console.error(`warning: ${ignored}`)
      const deployment = await stackOf(stack)
      const response = await sendEvent(event, {
        baseUrl: (await import('../stack/deployment.ts')).baseUrlOf(deployment, url),
        secret: await (await import('./webhook-secret.ts')).signingSecret(deployment),
        settings: used,
      })
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
      printFields({ status: response.status, event_id: event.event_id })
    })
}

function defineSecret(define: Define): void {
  define(
    'webhook secret',
    'Print the secret that signs webhooks, or store another one. It holds one key, or several that are separated by spaces: events signed with any of them are accepted. A new key is accepted 30 seconds after it was stored, and a dropped one is refused within minutes. A change prints the new key only. With --stripe, it is the secret of the webhook endpoint at Stripe, which Stripe generates.',
    'webhook secret',
    'webhook secret --generate --keep --yes --stack commerce-prod > webhooks.key',
    'webhook secret --drop-old --yes --stack commerce-prod',
    'webhook secret --stripe --set-stdin --yes --stack commerce-prod < stripe.key',
  )
    .option('--stripe', "the secret of Stripe's webhooks")
    .option('--generate', 'store a new random key')
    .option('--set-stdin', 'store the secret that standard input holds')
    .option('--keep', 'keep the present keys after the new one, for a rotation')
    .option('--drop-old', 'keep only the first key: the end of a rotation')
    .addOption(yes)
    .addOption(stack)
    .action(async ({ stripe, generate, setStdin, keep, dropOld, yes, stack: name }) => {
      if ([generate, setStdin, dropOld].filter(Boolean).length > 1)
        throw new UsageError('--generate, --set-stdin and --drop-old exclude each other')
      if (stripe && generate) throw new UsageError('Stripe generates its secret: use --set-stdin')
      const sender = stripe ? 'stripe' : 'partners'
      const { dropOldKeys, newSigningKey, signingSecret, storeSigningSecret } = await import(
        './webhook-secret.ts'
      )
      const stack = await stackOf(name)
      if (dropOld) {
        await confirm('Drop all keys but the first?', yes)
        return printFields({ dropped_keys: await dropOldKeys(stack, sender) })
      }
      // biome-ignore lint/suspicious/noConsole: scripts take the whole output as the key
      if (!generate && !setStdin) return console.log(await signingSecret(stack, sender))
      const key = generate ? newSigningKey() : await secretFrom(process.stdin)
      const secret = keep ? `${key} ${await signingSecret(stack, sender)}` : key
      if (setStdin && !yes) throw new UsageError('--set-stdin requires --yes')
      await confirm(`Replace the secret that signs webhooks${keep ? '' : ', without the present keys'}?`, yes)
      await storeSigningSecret(stack, secret, sender)
      // biome-ignore lint/suspicious/noConsole: the sender gets the new key only
      console.log(key)
    })
}
