import { CfnOutput, Fn, Stack, type StackProps, Tags } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import type { Settings } from '#shared/settings/register.ts'
import { userPool } from './access/user-pool.ts'
import { backups } from './data/backups.ts'
import { dataTable } from './data/data-table.ts'
import { filesBucket } from './data/files-bucket.ts'
import { ownKey } from './data/own-key.ts'
import { secrets } from './data/secrets.ts'
import { consumers } from './functions/consumers.ts'
import {
  createPreflightFunction,
  endpointFunctions,
  unknownRouteFunction,
} from './functions/endpoint-functions.ts'
import type { Freeze } from './functions/freeze.ts'
import {
  corsPreflight as entryOfPreflight,
  unknownRoute as entryOfUnknownRoute,
  type FunctionCodes,
} from './functions/function-names.ts'
import { bypassRollout, gradualDeployments } from './functions/gradual-deployment.ts'
import { invokedBy } from './functions/release.ts'
import { traces } from './functions/traces.ts'
import { restApi } from './gateway/rest-api.ts'
import { blockedAddressesRule, userPoolWebAcl, webAcl } from './gateway/web-acl.ts'
import { importMachine, importStepFunctions } from './imports/import-machine.ts'
import { eventBus, feedSubscribers } from './messages/event-bus.ts'
import { mailEvents, mailing } from './messages/mail.ts'
import { workQueues } from './messages/queues.ts'
import { busName } from './monitoring/alarm-definitions.ts'
import { Watch } from './monitoring/watch.ts'
import { deploymentName, hasWebAcl, type Stage } from './stage.ts'

interface CommerceStackProps extends Pick<StackProps, 'env'> {
  stage: Stage
  settings: Settings
  /** The bundled functions, one for each name of `entryPoints`. */
  codes: FunctionCodes
  /** The id of the deployment (see `releaseOf`). */
  release?: string | undefined
  /** Deploys new versions at once, without CodeDeploy and its alarms, in case the alarms block a fix. */
  bypassesRollout?: boolean
  /** Keeps a freeze. The versions of a frozen stack are deployed at once: they receive no requests to judge them by. */
  freeze?: Freeze | undefined
}

/** The whole service of one stage, in the order in which requests and their events pass through it. */
export class CommerceStack extends Stack {
  constructor(
    scope: Construct,
    { stage, settings, codes, release, bypassesRollout, freeze, env }: CommerceStackProps,
  ) {
    super(scope, deploymentName(stage), {
      description: `Commerce API, stage ${stage.name}.`,
      terminationProtection: stage.keepsData,
      tags: { service: 'commerce' },
      ...(env && { env }),
    })
    const key = ownKey(this, stage)
    const table = dataTable(this, { stage, settings, key })
    const backedUp = stage.keepsData ? backups(this, table, { settings, key }) : undefined
    const secretsOfStage = secrets(this, stage, key)
    const { bus, deadLetters: undelivered } = eventBus(this, stage, settings, key)
    const files = filesBucket(this, stage, settings, key)
    const queues = workQueues(this, settings, key)
    feedSubscribers(this, bus, queues.published_events)
    const mail = mailing(this, settings)
    mailEvents(this, queues.mail_events, { settings, configurationSet: mail?.configurationSet })
    const users = userPool(this, { stage, settings, mail })
    const resources = { key, table, secrets: secretsOfStage, bus, files, queues, mail, users }
    const deployment = { stage, settings, codes, release, resources, freeze }

    const endpoints = endpointFunctions(this, deployment, routes)
    const preflightHandler = createPreflightFunction(this, deployment, routes)
    const preflight = invokedBy(preflightHandler, release)
    const unknownRouteHandler = unknownRouteFunction(this, deployment, routes)
    const unknownRoute = invokedBy(unknownRouteHandler, release)
    const api = restApi(this, { stage, settings, endpoints, preflight, unknownRoute, key })

    const blocked = hasWebAcl(stage, settings) ? blockedAddressesRule(this, stage) : undefined
    const acl = blocked && webAcl(this, api, { stage, settings, key, blocked })
    if (blocked) userPoolWebAcl(this, users.pool, { stage, settings, key, blocked })

    if (stage.onAws) traces(this, stage, settings)

    const working = importStepFunctions(this, deployment, steps)
    const machine = importMachine(this, deployment, working)
    const domain = settings['api.domain']
    const address = domain ? `https://${domain.host}/` : api.url
    const known = { ...deployment, resources: { ...resources, address, importMachine: machine } }
    const consuming = consumers(this, known, subscriptions)

    const functions = new Map<string, LambdaFunction>([
      ...endpoints.map(({ route, handler }) => [route.operation, handler] as const),
      ...[...consuming, ...working].map(({ name, handler }) => [name, handler] as const),
      [entryOfPreflight.name, preflightHandler],
      [entryOfUnknownRoute.name, unknownRouteHandler],
    ])
    const deadLetters = new Map([
      ...(undelivered ? [[busName, undelivered] as const] : []),
      ...consuming.flatMap(({ name, deadLetters }) => (deadLetters ? [[name, deadLetters] as const] : [])),
    ])
    const watched = { stage, settings, api, functions, deadLetters, machine: machine.machine }
    const watch = stage.onAws
      ? new Watch(this, { ...watched, key, table, queues, backups: backedUp })
      : undefined
    const invoked = [...endpoints.map((endpoint) => endpoint.invoked), preflight, unknownRoute]
    gradualDeployments(this, stage, invoked)
    if (bypassesRollout || freeze) for (const one of invoked) bypassRollout(one)
    // The tag of the stack itself is among its properties.
    Tags.of(this).add('service', 'commerce')

    const keyScopes = new Set(routes.flatMap(({ route }) => apiKeyScopes(route, settings) ?? []))
    const outputs = {
      BaseUrl: address,
      RestApiId: api.restApiId,
      StageName: api.deploymentStage.stageName,
      TableName: table.tableName,
      TableArn: table.tableArn,
      ...(table.tableStreamArn !== undefined && { TableStreamArn: table.tableStreamArn }),
      ...(backedUp && { BackupVaultName: backedUp.vault.backupVaultName }),
      ImportMachineArn: machine.machine.stateMachineArn,
      // A reference to a web ACL is its name, its id and its scope.
      ...(acl && { WebAclName: Fn.select(0, Fn.split('|', acl.ref)), WebAclId: acl.attrId }),
      EventBusName: bus.eventBusName,
      FilesBucketName: files.bucketName,
      UserPoolId: users.pool.userPoolId,
      UserPoolClientId: users.client.userPoolClientId,
      ...(release !== undefined && { Release: release }),
      ApiKeyScopes: [...keyScopes].sort().join(' '),
      PaymentsSecretArn: secretsOfStage.payments.secretArn,
      WebhooksSecretArn: secretsOfStage.webhooks.secretArn,
      StripeWebhooksSecretArn: secretsOfStage.stripe_webhooks.secretArn,
      ProbeSecretArn: secretsOfStage.probe.secretArn,
      CodesSecretArn: secretsOfStage.codes.secretArn,
      ...(watch?.pages && { PagesTopicArn: watch.pages.topicArn }),
    }
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value })
  }
}
