import { type Resources, type Right, usesFiles } from './grants.ts'

/** Where a function finds what it uses. */
export function environmentOf(uses: readonly Right[], resources: Resources): Record<string, string> {
  const { table, secret, partners, files, bus, webhooks } = resources
  const usesOneOf = (...rights: Right[]) => rights.some((right) => uses.includes(right))
  return {
    ...(uses.some((use) => use.startsWith('table.')) && { TABLE_NAME: table.tableName }),
    ...(usesOneOf('secret.read') && { SECRET_ARN: secret.secretArn }),
    ...(usesOneOf('secret.payments') && { PAYMENTS_SECRET_ARN: partners.payments.secretArn }),
    ...(usesOneOf('secret.webhooks') && { WEBHOOKS_SECRET_ARN: partners.webhooks.secretArn }),
    ...(usesFiles(uses) && { FILES_BUCKET: files.bucketName }),
    ...(usesOneOf('bus.publish') && { EVENT_BUS_NAME: bus.eventBusName }),
    ...(usesOneOf('webhooks.send', 'webhooks.receive') && { WEBHOOKS_QUEUE_URL: webhooks.queue.queueUrl }),
  }
}
