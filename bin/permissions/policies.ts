import { tableFolder } from '#shared/platform/formats/file-store.ts'
import type { PartitionKind } from '#shared/platform/table/keys.ts'
import { findable } from '../commands/ask/locate.ts'
import { commandActions, dataActions, findStack, firstActions } from './command-actions.ts'

/** A statement of a policy that allows something. */
interface Statement {
  Sid: string
  Action: string | readonly string[]
  Resource: string | readonly string[]
  Condition?: object
}

/** The account of the examples, which deployers replace. */
const account = '111122223333'
const ofService = (service: string, resource: string) => `arn:aws:${service}:*:${account}:${resource}`
const functions = ofService('lambda', 'function:commerce-*')
const roleArn = (name: string) => `arn:aws:iam::${account}:role/${name}`
/** The secrets that operators store. */
const secretArns = ['PaymentsSecret*', 'WebhooksSecret*', 'StripeWebhooksSecret*', 'ProbeSecret*'].map(
  (name) => ofService('secretsmanager', `secret:${name}`),
)
const logGroupsOfFunctions = ofService('logs', 'log-group:commerce-*')
const logGroups = [logGroupsOfFunctions, ofService('logs', 'log-group:aws-waf-logs-commerce-*')]
/** User pools and secrets have names of AWS, which do not tell whose they are. */
const ofThisService = { StringEquals: { 'aws:ResourceTag/service': 'commerce' } }
const ofServiceKey = { 'ForAnyValue:StringLike': { 'kms:ResourceAliases': 'alias/commerce-*' } }

/** Where the actions of the commands are allowed. An action belongs to the first statement that matches it. */
const places: readonly (Omit<Statement, 'Action'> & { actions: RegExp })[] = [
  { Sid: 'FindServices', actions: /^cloudformation:DescribeType$/, Resource: '*' },
  { Sid: 'FindTheMailIdentity', actions: /^ses:/, Resource: ofService('ses', 'identity/*') },
  {
    Sid: 'FindTheStack',
    actions: /^cloudformation:/,
    Resource: ofService('cloudformation', 'stack/commerce-*'),
  },
  { Sid: 'RecordWhoRunsACommand', actions: /^sts:GetCallerIdentity$/, Resource: '*' },
  { Sid: 'WorkOnTheTable', actions: /^dynamodb:/, Resource: ofService('dynamodb', 'table/commerce-*') },
  {
    Sid: 'WatchEvents',
    actions: /^events:(Put|Delete|Remove)|^sqs:(CreateQueue|DeleteQueue)$/,
    Resource: [ofService('events', 'rule/*/commerce-events-*'), ofService('sqs', 'commerce-events-*')],
  },
  { Sid: 'ReplayEvents', actions: /^events:/, Resource: '*' },
  { Sid: 'WorkOnQueues', actions: /^sqs:/, Resource: ofService('sqs', 'commerce-*') },
  {
    Sid: 'ChangeMappings',
    actions: /^lambda:\w+EventSourceMapping$/,
    Resource: ofService('lambda', 'event-source-mapping:*'),
    Condition: { ArnLike: { 'lambda:FunctionArn': functions } },
  },
  { Sid: 'DeleteVersionsButNoFunctions', actions: /^lambda:DeleteFunction$/, Resource: `${functions}:*` },
  { Sid: 'ReadTheQuotaOfExecutions', actions: /^lambda:GetAccountSettings$/, Resource: '*' },
  { Sid: 'WorkOnFunctions', actions: /^lambda:/, Resource: functions },
  {
    Sid: 'ChangeSchedules',
    actions: /^scheduler:/,
    Resource: ofService('scheduler', 'schedule/default/commerce-*'),
  },
  {
    Sid: 'FindRunningImports',
    actions: /^states:/,
    Resource: ofService('states', 'stateMachine:commerce-*'),
  },
  { Sid: 'ReadTheWebAcl', actions: /^wafv2:GetWebACL$/, Resource: ofService('wafv2', 'regional/webacl/*') },
  {
    Sid: 'BlockAddresses',
    actions: /^wafv2:/,
    Resource: ofService('wafv2', 'regional/ipset/commerce-*'),
  },
  {
    Sid: 'FindExportsOfTheTable',
    actions: /^s3:(GetEncryptionConfiguration|ListBucket)$/,
    Resource: 'arn:aws:s3:::commerce-*',
  },
  {
    Sid: 'KeepExportsOfTheTableForADay',
    actions: /^s3:/,
    Resource: `arn:aws:s3:::commerce-*/${tableFolder}/*`,
  },
  { Sid: 'ReadMetrics', actions: /^cloudwatch:/, Resource: '*' },
  { Sid: 'QueryLogs', actions: /^logs:StartQuery$/, Resource: logGroups },
  { Sid: 'ReadLogQueries', actions: /^logs:/, Resource: '*' },
  {
    Sid: 'ManageUsers',
    actions: /^cognito-idp:/,
    Resource: ofService('cognito-idp', 'userpool/*'),
    Condition: ofThisService,
  },
  { Sid: 'UseSecrets', actions: /^secretsmanager:/, Resource: secretArns, Condition: ofThisService },
]

/** Services that encrypt with the key of the stage on behalf of a caller of these actions. */
const encrypting = {
  dynamodb: /^dynamodb:/,
  s3: /^s3:\w+Object$/,
  secretsmanager: /^secretsmanager:/,
  sqs: /^sqs:(Receive|Send)Message$/,
  states: /^states:/,
}

const table = ofService('dynamodb', 'table/commerce-*')

/** `find` and the console hash the text of a code. */
const readKeyOfCodes: Statement = {
  Sid: 'ReadTheKeyOfCodes',
  Action: 'secretsmanager:GetSecretValue',
  Resource: ofService('secretsmanager', 'secret:CodesSecret*'),
  Condition: ofThisService,
}

/** Permissions for the commands of the AWS CLI in the runbook and in the docs, and for the dashboard. */
const procedures: readonly Statement[] = [
  {
    Sid: 'CancelADeployment',
    Action: 'cloudformation:CancelUpdateStack',
    Resource: ofService('cloudformation', 'stack/commerce-*'),
  },
  {
    Sid: 'ShowDashboard',
    Action: [
      'cloudwatch:DescribeAlarms',
      'cloudwatch:GetDashboard',
      'cloudwatch:GetMetricData',
      'cloudwatch:ListDashboards',
      'logs:DescribeLogGroups',
      'logs:DescribeQueryDefinitions',
    ],
    Resource: '*',
  },
  {
    Sid: 'ReadExecutionsOfImports',
    Action: 'states:GetExecutionHistory',
    Resource: ofService('states', 'execution:commerce-*'),
  },
  {
    Sid: 'ReadQuotasSchedulesMailAndWebAcls',
    Action: [
      'dynamodb:DescribeLimits',
      'scheduler:ListSchedules',
      'ses:GetAccount',
      'ses:ListSuppressedDestinations',
      'wafv2:ListAvailableManagedRuleGroupVersions',
      'wafv2:ListWebACLs',
    ],
    Resource: '*',
  },
  {
    Sid: 'ReadBlockedAddresses',
    Action: 'wafv2:GetRateBasedStatementManagedKeys',
    Resource: ofService('wafv2', 'regional/webacl/*'),
  },
  { Sid: 'ReadTheStream', Action: 'dynamodb:DescribeStream', Resource: table },
  { Sid: 'ReportKeysOfARestoredTable', Action: 'dynamodb:UpdateContributorInsights', Resource: table },
  {
    Sid: 'BackUpAndRestore',
    Action: [
      'backup:DescribeRestoreJob',
      'backup:ListBackupJobs',
      'backup:ListCopyJobs',
      'backup:ListRecoveryPointsByBackupVault',
      'backup:StartBackupJob',
      'backup:StartRestoreJob',
    ],
    Resource: '*',
  },
  passRole('RestoreWithThisRole', 'commerce-restore', 'backup'),
  passRole('BackUpWithTheRoleOfTheStack', 'commerce-*-BackupRole*', 'backup'),
  passRole('ChangeSchedulesWithTheirRoles', 'commerce-*', 'scheduler'),
  { Sid: 'FindWhatListenersLeft', Action: ['events:ListRules', 'sqs:ListQueues'], Resource: '*' },
  {
    Sid: 'EmptyTheDeadLettersOfTheBus',
    Action: 'sqs:PurgeQueue',
    Resource: ofService('sqs', 'commerce-*-EventBusDeadLetters*'),
  },
  { Sid: 'FollowAReplay', Action: 'events:DescribeReplay', Resource: '*' },
  readKeyOfCodes,
  {
    Sid: 'DescribeSecrets',
    Action: 'secretsmanager:DescribeSecret',
    Resource: secretArns,
    Condition: ofThisService,
  },
  {
    Sid: 'FindTheKey',
    Action: 'kms:DescribeKey',
    Resource: ofService('kms', 'key/*'),
    Condition: ofServiceKey,
  },
  {
    Sid: 'EncryptARestoredTable',
    Action: 'kms:CreateGrant',
    Resource: ofService('kms', 'key/*'),
    Condition: { StringLike: { 'kms:ViaService': 'dynamodb.*.amazonaws.com' }, ...ofServiceKey },
  },
]

/** Returns the policy of operators: every command, and the procedures of the docs. */
export function operatorPolicy(): object {
  const ofProcedures = procedures.flatMap(({ Action }) => Action)
  const asked = [...firstActions, ...dataActions].filter((action) => !ofProcedures.includes(action))
  const actions = [...Object.values(commandActions).flat(), ...asked]
  return policy([...statementsFor(actions), ...procedures])
}

/** The kinds of items that `find`, the lists and the console read. The others hold what none of them shows. */
const shownKinds: readonly PartitionKind[] = [
  ...findable,
  'mail',
  'inbox',
  'cart',
  'order_cart',
  'code_lock',
  'audit',
  'ledger',
  'pending-saga',
  'unsettled-refund',
  'failed-operation',
  'failed-delivery',
]

/** Allows actions on the items of some kinds, as `lib/access/table-grants.ts` does for functions. */
function onItems(Sid: string, Action: Statement['Action'], kinds: readonly PartitionKind[]): Statement {
  const Condition = {
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': kinds.map((kind) => `${kind}#*`) },
    // Without a key, the condition above would be met.
    Null: { 'dynamodb:LeadingKeys': 'false' },
  }
  return { Sid, Action, Resource: table, Condition }
}

/** Returns the policy of those who look at a stage through the console, and change nothing. */
export function consolePolicy(): object {
  const statements = statementsFor(commandActions.console ?? [])
  const narrower: Record<string, readonly Statement[]> = {
    UseSecrets: [readKeyOfCodes],
    WorkOnTheTable: [
      onItems('ReadItems', ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'], shownKinds),
      // The idempotency record of a refund that is being paid names it. Without its entry, nobody knows the key of the record.
      onItems('FindPendingRefunds', 'dynamodb:BatchGetItem', ['idempotency']),
      // The index holds only keys, whose ids name no kind.
      { Sid: 'FindByIdInAnyTenant', Action: 'dynamodb:Query', Resource: `${table}/index/*` },
    ],
    // A message that is received is hidden from others for a while, which only dead letters may be.
    WorkOnQueues: [
      {
        Sid: 'LookAtDeadLetters',
        Action: ['sqs:ChangeMessageVisibility', 'sqs:ReceiveMessage'],
        Resource: ofService('sqs', 'commerce-*DeadLetters*'),
      },
      {
        Sid: 'CountMessages',
        Action: 'sqs:GetQueueAttributes',
        Resource: ofService('sqs', 'commerce-*'),
      },
    ],
  }
  return policy(
    statements.flatMap((one) => {
      if (one.Sid === 'QueryLogs') return [{ ...one, Resource: logGroupsOfFunctions }]
      if (one.Sid === keySid) return [{ ...one, Action: ['kms:Decrypt', 'kms:DescribeKey'] }]
      return narrower[one.Sid] ?? [one]
    }),
  )
}

/** Returns the policy for emergencies, in addition to that of operators: it shows the addresses of callers and their URLs. */
export function unmaskPolicy(): object {
  return policy([
    { Sid: 'ReadAddressesOfCallers', Action: 'logs:Unmask', Resource: logGroups },
    { Sid: 'ReadTraces', Action: 'xray:BatchGetTraces', Resource: '*' },
  ])
}

/** Returns the policy of the pipeline: deployments through the roles of the bootstrap, and its commands. */
export function pipelinePolicy(): object {
  const deploy = {
    Sid: 'DeployThroughTheRolesOfTheBootstrap',
    Action: 'sts:AssumeRole',
    Resource: roleArn('cdk-*'),
  }
  // `verify` signs a webhook; the secret of the payment provider is not the pipeline's.
  const webhooks = secretArns.filter((arn) => arn.includes(':WebhooksSecret')).join()
  const commands = ['preflight', 'verify', 'releases']
  const statements = statementsFor(commands.flatMap((name) => commandActions[name] ?? []))
  const narrowed = statements.map((one) => (one.Sid === 'UseSecrets' ? { ...one, Resource: webhooks } : one))
  return policy([deploy, ...narrowed])
}

/** Returns the statements that some actions need, and the search of the stack. @throws Error if an action has no place */
function statementsFor(all: readonly string[]): Statement[] {
  const actions = [...new Set([findStack, ...all])].sort()
  const byPlace = Map.groupBy(actions, (action) => places.find((place) => place.actions.test(action)))
  const homeless = byPlace.get(undefined) ?? []
  if (homeless.length > 0) throw new Error(`say in bin/permissions/policies.ts where to allow ${homeless}`)
  const statements = places.flatMap((place) => {
    const { actions: _, Sid, ...where } = place
    const Action = byPlace.get(place)
    return Action ? [{ Sid, Action: Action.length === 1 ? Action.join() : Action, ...where }] : []
  })
  return [...statements, ...keyStatement(actions)]
}

const keySid = 'UseTheKeyThroughTheseServices'

function keyStatement(actions: readonly string[]): Statement[] {
  const services = Object.entries(encrypting)
    .filter(([, expression]) => actions.some((action) => expression.test(action)))
    .map(([service]) => `${service}.*.amazonaws.com`)
  if (services.length === 0) return []
  const Action = ['Decrypt', 'DescribeKey', 'Encrypt', 'GenerateDataKey', 'GenerateDataKeyWithoutPlaintext']
    .concat('ReEncryptFrom', 'ReEncryptTo')
    .map((name) => `kms:${name}`)
  const Condition = { StringLike: { 'kms:ViaService': services }, ...ofServiceKey }
  return [{ Sid: keySid, Action, Resource: ofService('kms', 'key/*'), Condition }]
}

function passRole(Sid: string, role: string, service: string): Statement {
  const Condition = { StringEquals: { 'iam:PassedToService': `${service}.amazonaws.com` } }
  return { Sid, Action: 'iam:PassRole', Resource: roleArn(role), Condition }
}

function policy(statements: readonly Statement[]): object {
  const Statement = statements.map(({ Sid, ...rest }) => ({ Sid, Effect: 'Allow', ...rest }))
  return { Version: '2012-10-17', Statement }
}
