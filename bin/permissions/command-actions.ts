/** The record of an operator's action in the audit of a tenant. */
const audited = ['sts:GetCallerIdentity', 'dynamodb:PutItem']
/** A change of an item that was read, with its audit record. */
const changing = ['dynamodb:GetItem', 'dynamodb:UpdateItem', ...audited]
const purging = [
  'dynamodb:ConditionCheckItem',
  'dynamodb:DeleteItem',
  'dynamodb:GetItem',
  'dynamodb:Query',
  'dynamodb:UpdateItem',
  ...audited,
]
const watchQueue = ['sqs:CreateQueue', 'sqs:DeleteMessage', 'sqs:DeleteQueue', 'sqs:GetQueueAttributes']
const inspected = ['dynamodb:GetItem', 'sqs:ChangeMessageVisibility', 'sqs:GetQueueAttributes']
/** The lists, the timeline of one thing, and the console. */
const finding = [
  'cloudformation:ListStackResources',
  'dynamodb:BatchGetItem',
  'dynamodb:Query',
  'logs:GetQueryResults',
  'logs:StartQuery',
  'secretsmanager:GetSecretValue',
  'sqs:ReceiveMessage',
  ...inspected,
]
const releases = ['cloudformation:ListStackResources', 'lambda:ListAliases', 'lambda:ListVersionsByFunction']
/** The removal of provisioned concurrency, and its return. */
const provisioning = [
  'lambda:GetFunction',
  'lambda:GetProvisionedConcurrencyConfig',
  'lambda:PutProvisionedConcurrencyConfig',
  'lambda:UntagResource',
]
const deprovisioning = [
  'lambda:DeleteProvisionedConcurrencyConfig',
  'lambda:GetAlias',
  'lambda:GetFunction',
  'lambda:GetProvisionedConcurrencyConfig',
  'lambda:TagResource',
  'lambda:UpdateAlias',
]
const blockedAddresses = ['cloudformation:ListStackResources', 'wafv2:GetIPSet']
const pausing = [
  'lambda:GetFunction',
  'lambda:UpdateEventSourceMapping',
  'scheduler:GetSchedule',
  'scheduler:UpdateSchedule',
]

/**
 * The AWS actions that each command with `--stack` calls, besides that which finds the stack. The example policies are
 * generated from them, and the tests of the deployed stack compare them with the calls that the commands make.
 */
export const commandActions: Readonly<Record<string, readonly string[]>> = {
  env: [],
  runbook: [],
  'events listen': [
    'events:DeleteRule',
    'events:PutRule',
    'events:PutTargets',
    'events:RemoveTargets',
    'sqs:ReceiveMessage',
    ...watchQueue,
  ],
  'events replay': [
    'dynamodb:DeleteItem',
    'dynamodb:Query',
    'events:ListArchives',
    'events:StartReplay',
    'lambda:InvokeFunction',
    'sqs:SendMessage',
    ...changing,
  ],
  'webhook send': ['secretsmanager:GetSecretValue'],
  'webhook secret': ['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'],
  find: finding,
  'audit list': ['dynamodb:Query'],
  'operations list': ['dynamodb:BatchGetItem', 'dynamodb:Query'],
  'orders erase': ['dynamodb:ConditionCheckItem', 'dynamodb:GetItem', ...audited],
  'sessions list': ['dynamodb:Query'],
  'sessions revoke': ['dynamodb:UpdateItem', ...audited],
  'api-keys create': audited,
  'api-keys list': ['dynamodb:Query'],
  'api-keys rotate': ['dynamodb:GetItem', 'dynamodb:UpdateItem', ...audited],
  'api-keys revoke': ['dynamodb:UpdateItem', ...audited],
  'users set': [
    'cognito-idp:AdminCreateUser',
    'cognito-idp:AdminDeleteUser',
    'cognito-idp:AdminGetUser',
    'cognito-idp:AdminSetUserPassword',
    'cognito-idp:AdminUpdateUserAttributes',
    ...audited,
  ],
  'tenants purge': purging,
  'holds set': ['dynamodb:ConditionCheckItem', 'dynamodb:Query', 'dynamodb:UpdateItem', ...audited],
  'holds list': ['dynamodb:Query'],
  'holds lift': ['dynamodb:DeleteItem', 'dynamodb:UpdateItem', ...audited],
  'tenants block': ['dynamodb:GetItem', 'dynamodb:Query', ...audited],
  'tenants unblock': ['dynamodb:ConditionCheckItem', 'dynamodb:DeleteItem', 'dynamodb:GetItem', ...audited],
  'tenants connect': ['dynamodb:GetItem', ...audited],
  'tenants disconnect': ['dynamodb:GetItem', ...audited],
  'tenants list': ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'],
  'subscribers create': ['dynamodb:Query', 'lambda:InvokeFunction', ...changing],
  'subscribers list': ['dynamodb:Query'],
  'subscribers update': ['lambda:InvokeFunction', ...changing],
  'subscribers pause': changing,
  'subscribers resume': ['dynamodb:BatchGetItem', 'dynamodb:DeleteItem', 'dynamodb:Query', ...changing],
  'subscribers rotate-secret': ['lambda:InvokeFunction', ...changing],
  'subscribers delete': ['dynamodb:DeleteItem', 'dynamodb:GetItem', ...audited],
  'subscribers test': ['dynamodb:GetItem', 'sqs:SendMessage', ...audited],
  'subscribers re-encrypt': ['dynamodb:Query', 'lambda:InvokeFunction', ...changing],
  'deliveries list': ['dynamodb:BatchGetItem', 'dynamodb:Query'],
  'deliveries resend': ['dynamodb:DeleteItem', 'lambda:InvokeFunction', 'sqs:SendMessage', ...changing],
  'refunds list': ['dynamodb:BatchGetItem', 'dynamodb:Query'],
  'refunds settle': ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:Query', ...audited],
  'refunds reconcile': ['dynamodb:GetItem', 'dynamodb:Query', 'secretsmanager:GetSecretValue', ...audited],
  console: finding,
  verify: [
    'dynamodb:DescribeContinuousBackups',
    'dynamodb:DescribeTable',
    'secretsmanager:GetSecretValue',
    ...purging,
  ],
  'dead-letters list': ['sqs:ReceiveMessage', ...inspected],
  'dead-letters discard': ['sqs:DeleteMessage', 'sqs:ReceiveMessage', ...inspected, ...audited],
  'dead-letters redrive': [
    'dynamodb:GetRecords',
    'dynamodb:GetShardIterator',
    'dynamodb:Scan',
    'lambda:InvokeFunction',
    'sqs:ChangeMessageVisibility',
    'sqs:DeleteMessage',
    'sqs:ReceiveMessage',
    'sqs:SendMessage',
    ...audited,
  ],
  'table restore': [
    'dynamodb:DescribeTable',
    'dynamodb:PutItem',
    'dynamodb:RestoreTableToPointInTime',
    'dynamodb:UpdateContinuousBackups',
    'dynamodb:UpdateItem',
    'dynamodb:UpdateTable',
    'dynamodb:UpdateTimeToLive',
  ],
  'table carry-over': [
    'dynamodb:BatchGetItem',
    'dynamodb:BatchWriteItem',
    'dynamodb:DescribeTable',
    'dynamodb:Scan',
    ...purging,
  ],
  freeze: [
    'cloudformation:ListStackResources',
    'cloudwatch:GetMetricStatistics',
    'lambda:GetEventSourceMapping',
    'lambda:PutFunctionConcurrency',
    'lambda:TagResource',
    'states:ListExecutions',
    ...deprovisioning,
    ...pausing,
  ],
  unfreeze: [
    'cloudformation:ListStackResources',
    'lambda:DeleteFunctionConcurrency',
    'lambda:PutFunctionConcurrency',
    ...provisioning,
    ...pausing,
  ],
  'addresses list': blockedAddresses,
  'addresses block': [...blockedAddresses, 'wafv2:UpdateIPSet'],
  'addresses unblock': [...blockedAddresses, 'wafv2:UpdateIPSet'],
  preflight: [
    'cloudformation:DescribeType',
    'cloudformation:GetTemplate',
    'dynamodb:DescribeTable',
    'lambda:GetAccountSettings',
    'lambda:GetFunctionConcurrency',
    'lambda:GetProvisionedConcurrencyConfig',
    'ses:GetEmailIdentity',
    'sts:GetCallerIdentity',
    ...releases,
  ],
  rollback: ['lambda:CreateAlias', 'lambda:DeleteAlias', ...deprovisioning, ...provisioning, ...releases],
  releases: ['lambda:DeleteAlias', 'lambda:DeleteFunction', ...releases],
}

/** The actions of `verify --first`, which is asked once for a new stage. */
export const firstActions: readonly string[] = [
  'cloudformation:DescribeStackEvents',
  'cloudformation:ListStackResources',
  'cloudwatch:GetMetricStatistics',
  'cloudwatch:ListMetrics',
  'events:DescribeArchive',
  'lambda:GetAlias',
  'lambda:GetProvisionedConcurrencyConfig',
  'logs:GetQueryResults',
  'logs:StartQuery',
  'sqs:GetQueueAttributes',
  'wafv2:GetWebACL',
  'wafv2:ListAvailableManagedRuleGroupVersions',
]

/** The actions of `verify --data`. DynamoDB writes the files of an export with the permissions of its caller. */
export const dataActions: readonly string[] = [
  'dynamodb:DescribeExport',
  'dynamodb:DescribeTable',
  'dynamodb:ExportTableToPointInTime',
  's3:AbortMultipartUpload',
  's3:DeleteObject',
  's3:GetEncryptionConfiguration',
  's3:GetObject',
  's3:ListBucket',
  's3:PutObject',
  's3:PutObjectAcl',
]

/** Finds the stack that `--stack` names, and its outputs. */
export const findStack = 'cloudformation:DescribeStacks'
