import { queueUrlVariable, type TaskQueue } from '#shared/platform/events/tasks.ts'
import { type Resources, type Right, usesFiles } from './grants.ts'
import type { Users } from './user-pool.ts'

/** Returns the environment variables with the addresses of the resources that a function uses. */
export function environmentOf(uses: readonly Right[], resources: Resources): Record<string, string> {
  const { table, secret, partners, files, bus, queues, users, mail, importMachine } = resources
  const usesOneOf = (...rights: Right[]) => rights.some((right) => uses.includes(right))
  const addresses = Object.entries(queues).flatMap(([name, { queue }]) =>
    usesOneOf('queues.send', `queue.${name as TaskQueue}`)
      ? [[queueUrlVariable(name as TaskQueue), queue.queueUrl]]
      : [],
  )
  return {
    ...(uses.some((use) => use.startsWith('table.')) && { TABLE_NAME: table.tableName }),
    ...(usesOneOf('secret.read') && { SECRET_ARN: secret.secretArn }),
    ...(usesOneOf('secret.payments') && { PAYMENTS_SECRET_ARN: partners.payments.secretArn }),
    ...(usesOneOf('secret.webhooks') && { WEBHOOKS_SECRET_ARN: partners.webhooks.secretArn }),
    ...(usesFiles(uses) && { FILES_BUCKET: files.bucketName }),
    ...(usesOneOf('imports.start') && { IMPORT_MACHINE_ARN: importMachine?.machine.stateMachineArn ?? '' }),
    ...(usesOneOf('bus.publish') && { EVENT_BUS_NAME: bus.eventBusName }),
    ...(usesOneOf('pool.client') && { USER_POOL_CLIENT_ID: users.client.userPoolClientId }),
    ...(usesOneOf('mail.send') &&
      mail.configurationSet && { MAIL_CONFIGURATION_SET: mail.configurationSet.configurationSetName }),
    ...(usesOneOf('pool.login') && { USER_POOL_ID: users.pool.userPoolId }),
    ...Object.fromEntries(addresses),
  }
}

/** Returns the issuer of the deployment's own users, for functions that accept bearer tokens (see `poolIssuer`). */
export function issuerOf({ issuer, client }: Users): Record<string, string> {
  return { USER_POOL_ISSUER: issuer, USER_POOL_CLIENT_ID: client.userPoolClientId }
}
