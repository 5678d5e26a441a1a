import { CfnOutput, Stack, Tags } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { EVENTS_TARGET_QUEUE_SAME_ACCOUNT } from 'aws-cdk-lib/cx-api'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import type { Settings } from '#shared/settings/register.ts'
import { busName } from './alarm-types.ts'
import { backups } from './backups.ts'
import { consumers } from './consumers.ts'
import { dataTable } from './data-table.ts'
import { deploymentSecret } from './deployment-secret.ts'
import { endpointFunctions, preflightFunction } from './endpoint-functions.ts'
import { eventBus } from './event-bus.ts'
import { filesBucket } from './files-bucket.ts'
import { preflight as entryOfPreflight, type FunctionCodes } from './function-entries.ts'
import { gradualDeployments } from './gradual-deployment.ts'
import { importMachine } from './import-machine.ts'
import { bypassRollout, invokedBy } from './live-alias.ts'
import { mailing } from './mail.ts'
import { mailEvents } from './mail-events.ts'
import { ownKey } from './own-key.ts'
import { partnerSecrets } from './partner-secrets.ts'
import { restApi } from './rest-api.ts'
import type { Stage } from './stage.ts'
import { stepFunctions } from './step-functions.ts'
import { userPool } from './user-pool.ts'
import { Watch } from './watch.ts'
import { userPoolWebAcl, webAcl } from './web-acl.ts'
import { workQueues } from './work-queues.ts'

export interface CommerceStackProps {
  stage: Stage
  settings: Settings
  /** The bundled functions, one for each name of `functionEntries`. */
  codes: FunctionCodes
  /**
   * Creates the key of the stage and grants its use, but encrypts nothing with it yet. An update that introduces the
   * key takes two deployments: in a single one, the table is encrypted before its functions may use the key.
   */
  preparesKey?: boolean
  /** Deploys new versions at once, without CodeDeploy and its alarms, in case the alarms block a fix. */
  bypassesRollout?: boolean
}

/** The whole service of one stage, in the order in which requests and their events pass through it. */
export class CommerceStack extends Stack {
  constructor(
    scope: Construct,
    { stage, settings, codes, preparesKey, bypassesRollout }: CommerceStackProps,
  ) {
    super(scope, `commerce-${stage.name}`, {
      description: `Commerce API, stage ${stage.name}.`,
      terminationProtection: stage.deletionProtection,
    })
    // Without this setting, CDK lets EventBridge of every account send to a queue that is encrypted with a key.
    this.node.setContext(EVENTS_TARGET_QUEUE_SAME_ACCOUNT, true)
    const key = ownKey(this, stage)
    const dataKey = preparesKey ? undefined : key
    const table = dataTable(this, { stage, settings, key: dataKey })
    const backupVault = stage.keepsData ? backups(this, table, { settings, key }) : undefined
    const secret = deploymentSecret(this, stage, dataKey)
    const partners = partnerSecrets(this, stage, dataKey)
    const { bus, deadLetters: undelivered } = eventBus(this, stage, settings, dataKey)
    const files = filesBucket(this, stage, settings, dataKey)
    const queues = workQueues(this, settings, dataKey)
    const mail = mailing(this, settings)
    mailEvents(this, queues.mail_events, { settings, configurationSet: mail.configurationSet })
    const users = userPool(this, { stage, settings, mail })
    const resources = { key, dataKey, table, secret, partners, bus, files, queues, mail, users }

    const endpoints = endpointFunctions(this, { stage, settings, codes, resources, routes })
    const preflightHandler = preflightFunction(this, { stage, key, settings, codes, routes })
    const preflight = invokedBy(preflightHandler, stage)
    const api = restApi(this, { stage, settings, endpoints, preflight, key })

    if (stage.filtersRequests) {
      webAcl(this, api, { stage, settings, key })
      userPoolWebAcl(this, users.pool, { stage, settings, key })
    }

    const working = stepFunctions(this, { stage, codes, resources, steps })
    const machine = importMachine(this, { stage, key, dataKey, files, steps: working })
    const withMachine = { ...resources, importMachine: machine }
    const consuming = consumers(this, { stage, settings, codes, resources: withMachine, subscriptions })

    const functions = new Map<string, IFunction>([
      ...endpoints.map(({ route, handler }) => [route.operation, handler] as const),
      ...consuming.map(({ subscription, handler }) => [subscription.name, handler] as const),
      ...working.map(({ entry, handler }) => [entry.name, handler] as const),
      [entryOfPreflight.name, preflightHandler],
    ])
    const deadLetters = new Map([
      ...(undelivered ? [[busName, undelivered] as const] : []),
      ...consuming.flatMap(({ subscription, deadLetters }) =>
        deadLetters ? [[subscription.name, deadLetters] as const] : [],
      ),
    ])
    const watched = { stage, settings, api, functions, deadLetters, machine: machine.machine }
    const watch = stage.raisesAlarms
      ? new Watch(this, { ...watched, key, table, queues, backupVault })
      : undefined
    const invoked = [...endpoints.map((endpoint) => endpoint.invoked), preflight]
    gradualDeployments(this, stage, invoked)
    if (bypassesRollout) for (const one of invoked) bypassRollout(one)
    Tags.of(this).add('service', 'commerce')

    const domain = settings['api.domain']
    new CfnOutput(this, 'BaseUrl', { value: domain ? `https://${domain.host}/` : api.url })
    new CfnOutput(this, 'RestApiId', { value: api.restApiId })
    new CfnOutput(this, 'StageName', { value: api.deploymentStage.stageName })
    new CfnOutput(this, 'TableName', { value: table.tableName })
    new CfnOutput(this, 'EventBusName', { value: bus.eventBusName })
    new CfnOutput(this, 'FilesBucketName', { value: files.bucketName })
    new CfnOutput(this, 'UserPoolId', { value: users.pool.userPoolId })
    new CfnOutput(this, 'UserPoolClientId', { value: users.client.userPoolClientId })
    const keyScopes = new Set(routes.flatMap(({ route }) => apiKeyScopes(route, settings) ?? []))
    new CfnOutput(this, 'ApiKeyScopes', { value: [...keyScopes].sort().join(' ') })
    new CfnOutput(this, 'PaymentsSecretArn', { value: partners.payments.secretArn })
    new CfnOutput(this, 'WebhooksSecretArn', { value: partners.webhooks.secretArn })
    if (watch) {
      new CfnOutput(this, 'PagesTopicArn', { value: watch.topics.page.topicArn })
      new CfnOutput(this, 'TicketsTopicArn', { value: watch.topics.ticket.topicArn })
    }
  }
}
