import { expect, test } from '@jest/globals'
import { withDomain, withWeeklyBackups } from './stage-settings.ts'
import { idsOf, resourcesOf, type Template, templatesOf, valueAt } from './synthesis.ts'

const [prod, domain, weekly, dev, local] = await Promise.all([
  templatesOf('prod'),
  templatesOf('prod', { changes: withDomain }),
  templatesOf('prod', { changes: withWeeklyBackups }),
  templatesOf('dev'),
  templatesOf('local'),
])
const { settings } = prod
const templates: Record<string, Template> = {
  prod: prod.template,
  'the alarms of prod': prod.watch,
  'prod with a domain': domain.template,
  'prod with weekly backups': weekly.template,
  'the alarms of prod with weekly backups': weekly.watch,
  dev: dev.template,
  local: local.template,
}

const key = (AttributeName: string, KeyType: string) => ({ AttributeName, KeyType })
const tls = { SecurityPolicy: 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09', EndpointAccessMode: 'STRICT' }
const expiring = (folder: string, ExpirationInDays: number) => {
  return { Id: folder, Status: 'Enabled', Prefix: `${folder}/`, ExpirationInDays }
}
const serverSide = 'BucketEncryption.ServerSideEncryptionConfiguration.0'
const page = { AlarmActions: ['<Pages>'] }
/** A statement that denies everything over plain http. */
const tlsOnly = { Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }
/** A rule is the only sender of events to a queue. */
const fedBy = (rule: string) => ({
  'PolicyDocument.Statement': [
    tlsOnly,
    {
      Action: 'sqs:SendMessage',
      Condition: { ArnEquals: { 'aws:SourceArn': `<${rule}.Arn>` } },
      Principal: { Service: 'events.amazonaws.com' },
    },
  ],
})
/** What the web ACL and that of the user pool log: rejections only. */
const rejections = {
  'LoggingFilter.DefaultBehavior': 'DROP',
  'LoggingFilter.Filters': [{ Behavior: 'KEEP' }, { Behavior: 'KEEP' }],
}
const masked = { 'DataProtectionPolicy.Statement.1.DataIdentifier.0': expect.stringMatching(/IpAddress$/) }
const metric = (MetricName: string, Dimensions: object[]) => ({
  MetricStat: { Metric: { MetricName, Dimensions } },
})
const named = (Name: string, Value: unknown) => ({ Name, Value })
/** A backup ends by 10:00 UTC, so none is missing before `BackupMissing` says so. */
const inTime = { StartWindowMinutes: 60, CompletionWindowMinutes: 360 }
const silence = { ComparisonOperator: 'LessThanThreshold', Threshold: 1, TreatMissingData: 'breaching' }

/** The properties of resources, by their paths, in the templates of a stage. A property of undefined is absent. */
const facts: Record<string, Record<string, Record<string, unknown>>> = {
  prod: {
    Table: {
      DeletionPolicy: 'Retain',
      DeletionProtectionEnabled: true,
      BillingMode: 'PAY_PER_REQUEST',
      'PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled': true,
      'SSESpecification.SSEEnabled': true,
      TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
      'StreamSpecification.StreamViewType': 'NEW_AND_OLD_IMAGES',
      KeySchema: [key('pk', 'HASH'), key('sk', 'RANGE')],
      GlobalSecondaryIndexes: [
        { IndexName: 'by-id', KeySchema: [key('id', 'HASH')], Projection: { ProjectionType: 'KEYS_ONLY' } },
      ],
    },
    Backups: {
      'BackupPlan.BackupPlanRule': [
        {
          ...inTime,
          RuleName: 'nightly',
          ScheduleExpression: 'cron(0 3 * * ? *)',
          Lifecycle: { DeleteAfterDays: 2 },
        },
        {
          ...inTime,
          RuleName: 'weekly',
          ScheduleExpression: 'cron(0 3 ? * SUN *)',
          Lifecycle: { DeleteAfterDays: 35 },
        },
      ],
    },
    BackupsTable: { BackupPlanId: '<Backups.BackupPlanId>', 'BackupSelection.Resources': ['<Table.Arn>'] },
    HashesSecret: {
      DeletionPolicy: 'RetainExceptOnCreate',
      GenerateSecretString: { ExcludePunctuation: true, PasswordLength: 64 },
    },
    // There is no API key until the operator stores one.
    PaymentsSecret: { SecretString: 'none' },
    ProbeSecret: { SecretString: 'none' },
    Key: { DeletionPolicy: 'RetainExceptOnCreate', EnableKeyRotation: true },
    KeyAlias: { AliasName: 'alias/commerce-prod', TargetKeyId: '<Key.Arn>' },
    // All changes, starting with the first, but only those with events. A failed change is retried alone.
    EventsRelayTableStream: {
      EventSourceArn: '<Table.StreamArn>',
      BatchSize: 100,
      StartingPosition: 'TRIM_HORIZON',
      MaximumBatchingWindowInSeconds: undefined,
      'FilterCriteria.Filters': [
        { Pattern: '{"dynamodb":{"NewImage":{"outbox":{"M":{"correlation_id":{"S":[{"exists":true}]}}}}}}' },
      ],
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      'DestinationConfig.OnFailure.Destination': '<EventsRelayDeadLetters.Arn>',
    },
    EventsRelayDeadLetters: { MessageRetentionPeriod: 1_209_600 },
    Webhooks: { 'RedrivePolicy.maxReceiveCount': settings['webhooks.maxAttempts'] },
    WebhooksDeadLetters: { MessageRetentionPeriod: 1_209_600 },
    EventBus: { 'DeadLetterConfig.Arn': '<EventBusDeadLetters.Arn>' },
    EventBusEventArchive: {
      EventPattern: { source: ['commerce-api'] },
      RetentionDays: settings['events.replay'].archiveDays,
    },
    // Subscribers outside AWS get whole events, of tenants that have some, and no replay of the bus.
    PublishedEventsRule: {
      EventBusName: '<EventBus>',
      EventPattern: {
        source: ['commerce-api'],
        resources: ['<PublishedEvents.Arn>'],
        'replay-name': [{ exists: false }],
      },
      Targets: [
        { Arn: '<PublishedEvents.Arn>', DeadLetterConfig: { Arn: '<PublishedEventsDeadLetters.Arn>' } },
      ],
      // The queue is fair between tenants.
      'Targets.0.SqsParameters': { MessageGroupId: '$.detail.data.tenant_id' },
      'Targets.0.InputPath': undefined,
      'Targets.0.InputTransformer': undefined,
    },
    PublishedEventsPolicy: fedBy('PublishedEventsRule'),
    PublishedEventsDeadLettersPolicy: fedBy('PublishedEventsRule'),
    Files: {
      DeletionPolicy: 'RetainExceptOnCreate',
      PublicAccessBlockConfiguration: {
        ...{ BlockPublicAcls: true, BlockPublicPolicy: true },
        ...{ IgnorePublicAcls: true, RestrictPublicBuckets: true },
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
      // Versions would keep expired files.
      VersioningConfiguration: undefined,
      LifecycleConfiguration: {
        Rules: [
          expiring('exports', 1),
          expiring('table', 1),
          expiring('imports', 1),
          expiring('rejects', settings['operations.retentionDays']),
          { Id: 'unfinished', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
        ],
      },
      // Pages follow an export, also by a redirect from the API.
      CorsConfiguration: {
        CorsRules: [
          {
            AllowedMethods: ['GET', 'HEAD'],
            AllowedOrigins: [...settings['cors.allowedOrigins'], 'null'],
            AllowedHeaders: ['*'],
            ExposedHeaders: ['Content-Disposition'],
            MaxAge: 600,
          },
        ],
      },
    },
    FilesPolicy: {
      'PolicyDocument.Statement': [
        { ...tlsOnly, Action: 's3:*', Principal: { AWS: '*' }, Resource: ['<Files.Arn>', '<Files.Arn>/*'] },
      ],
    },
    Api: {
      EndpointConfiguration: { Types: ['REGIONAL'] },
      // Bodies are forwarded unchanged, so functions receive invalid UTF-8.
      BinaryMediaTypes: ['application/json', 'text/csv'],
      DisableExecuteApiEndpoint: undefined,
      ...tls,
    },
    // The 5xx responses that no function gave, for the alarm of the whole API.
    AccessLogUnanswered: {
      FilterPattern: '{ $.status = "5*" && $.gatewayError != "-" }',
      LogGroupName: '<AccessLog>',
      MetricTransformations: [
        { MetricName: 'unanswered_requests', MetricNamespace: 'commerce-prod', MetricValue: '1' },
      ],
    },
    AccessLog: masked,
    WebAcl: {
      Scope: 'REGIONAL',
      DefaultAction: { Allow: {} },
      'VisibilityConfig.MetricName': 'commerce-prod',
    },
    WebAclOfStage: {
      WebACLArn: '<WebAcl.Arn>',
      ResourceArn: expect.stringMatching(/\/restapis\/<Api>\/stages\/<ApiDeploymentStageprod>$/),
    },
    WebAclLogging: rejections,
    WebAclLog: { LogGroupName: 'aws-waf-logs-commerce-prod', ...masked },
    WebAclOfUsers: { WebACLArn: '<UsersWebAcl.Arn>', ResourceArn: '<Users.Arn>' },
    UsersWebAclLog: { LogGroupName: 'aws-waf-logs-commerce-prod-users' },
    BlockedIpv4: { IPAddressVersion: 'IPV4', Addresses: [] },
    BlockedIpv6: { IPAddressVersion: 'IPV6', Addresses: [] },
    Traces: {
      SamplingRule: {
        ...{ ReservoirSize: 0, FixedRate: settings['traces.share'] },
        ServiceName: 'commerce-prod*',
      },
    },
    ImportMachine: {
      StateMachineName: 'commerce-prod-imports',
      TracingConfiguration: { Enabled: true },
      LoggingConfiguration: { Level: 'ALL', IncludeExecutionData: false },
    },
    MailIdentity: {
      EmailIdentity: 'mail.acme.cloud',
      DkimAttributes: { SigningEnabled: true },
      MailFromAttributes: {
        MailFromDomain: 'bounce.mail.acme.cloud',
        BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
      },
      ConfigurationSetAttributes: { ConfigurationSetName: '<MailConfigurationSet>' },
    },
    MailConfigurationSet: {
      SuppressionOptions: { SuppressedReasons: ['BOUNCE', 'COMPLAINT'] },
      ReputationOptions: { ReputationMetricsEnabled: true },
    },
    MailConfigurationSetDefaultBus: {
      EventDestination: { Enabled: true, MatchingEventTypes: ['delivery', 'bounce'] },
      'EventDestination.EventBridgeDestination.EventBusArn': expect.stringMatching(/:event-bus\/default$/),
    },
    // Reports of other configuration sets and of mails of the user pool are ignored. No report has its recipient.
    MailEventsRule: {
      'EventPattern.detail': {
        mail: {
          tags: { 'ses:configuration-set': ['<MailConfigurationSet>'], message_id: [{ exists: true }] },
        },
      },
      'Targets.0.InputTransformer.InputTemplate':
        '{"type":<detail-eventType>,"message_id":<detail-mail-tags-message_id>}',
    },
    MailEventsPolicy: fedBy('MailEventsRule'),
    OtpSend: { 'Environment.Variables.MAIL_CONFIGURATION_SET': '<MailConfigurationSet>' },
    Users: {
      DeletionPolicy: 'Retain',
      DeletionProtection: 'ACTIVE',
      UserPoolTier: 'ESSENTIALS',
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      UsernameAttributes: ['email'],
      UsernameConfiguration: { CaseSensitive: false },
      'Policies.PasswordPolicy': {
        MinimumLength: 12,
        ...{ RequireLowercase: true, RequireUppercase: true, RequireNumbers: true, RequireSymbols: true },
      },
      AccountRecoverySetting: { RecoveryMechanisms: [{ Name: 'verified_email', Priority: 1 }] },
      MfaConfiguration: 'OPTIONAL',
      EnabledMfas: ['SOFTWARE_TOKEN_MFA'],
      Schema: [
        { Name: 'tenant', Mutable: false },
        { Name: 'role', Mutable: true },
      ],
      // It adds claims to access tokens, too.
      'LambdaConfig.PreTokenGenerationConfig': { LambdaArn: '<LoginAddClaimsLive>', LambdaVersion: 'V2_0' },
      EmailConfiguration: {
        EmailSendingAccount: 'DEVELOPER',
        From: 'no-reply@mail.acme.cloud',
        ConfigurationSet: '<MailConfigurationSet>',
        SourceArn: expect.stringMatching(/:identity\/<MailIdentity>$/),
      },
    },
    UsersPreTokenGenerationConfigCognito: {
      Action: 'lambda:InvokeFunction',
      FunctionName: '<LoginAddClaimsLive>',
      Principal: 'cognito-idp.amazonaws.com',
      SourceArn: '<Users.Arn>',
    },
    UsersLoginClient: {
      // No flow for direct logins.
      ExplicitAuthFlows: ['ALLOW_ADMIN_USER_PASSWORD_AUTH', 'ALLOW_REFRESH_TOKEN_AUTH'],
      PreventUserExistenceErrors: 'ENABLED',
      EnableTokenRevocation: true,
      GenerateSecret: false,
      AllowedOAuthFlowsUserPoolClient: false,
      TokenValidityUnits: { AccessToken: 'minutes', RefreshToken: 'minutes' },
      // Users change neither their tenant, nor their role, nor their e-mail.
      WriteAttributes: ['locale'],
      ReadAttributes: ['email', 'email_verified'],
    },
    Outputs: {
      'BaseUrl.Value': expect.stringMatching(/^https:\/\/<Api>\.execute-api\./),
      'FilesBucketName.Value': '<Files>',
      'UserPoolId.Value': '<Users>',
      'UserPoolClientId.Value': '<UsersLoginClient>',
      'MailDkimRecord3.Value': expect.stringMatching(/ CNAME /),
      'MailFromMxRecord.Value': expect.stringMatching(/ MX /),
      'MailFromTxtRecord.Value': expect.stringMatching(/ TXT /),
    },
  },
  'the alarms of prod': {
    Pages: { KmsMasterKeyId: '<Key.Arn>' },
    BackupMissingAlarm: {
      ...{ Namespace: 'AWS/Backup', MetricName: 'NumberOfBackupJobsCompleted' },
      ...{ Dimensions: [named('BackupVaultName', '<BackupVault.BackupVaultName>')] },
      ...{ ...silence, Period: 3600, EvaluationPeriods: 31 },
    },
    RefundsDifferAlarm: {
      ...{ Namespace: 'commerce-prod', MetricName: 'differences' },
      ...{ Dimensions: [named('work', 'refunds')], Statistic: 'Sum', Threshold: 0, Period: 86_400 },
      ...page,
    },
    // A daily comparison that did not run for 26 hours.
    RefundsReconcileNotRunningAlarm: {
      ...{ ...silence, EvaluationPeriods: 26, ...page },
      'Metrics.0.Expression': 'FILL(refundsReconcileRuns, 0) - FILL(refundsReconcileErrors, 0)',
      'Metrics.1.MetricStat.Period': 3600,
      'Metrics.2.MetricStat.Period': 3600,
    },
    PublicAddressSilentAlarm: {
      ...{ Namespace: 'commerce-prod', MetricName: 'successful_probes', Statistic: 'Sum', Period: 300 },
      ...{ Dimensions: [named('service', 'commerce-api')], ...silence, Threshold: 3 },
    },
    ConcurrencyHighAlarm: { Threshold: 80, ComparisonOperator: 'GreaterThanThreshold' },
    EventsRelayLateAlarm: { MetricName: 'IteratorAge', Threshold: 60_000 },
    EventsRelayDeadLettersPresentAlarm: { MetricName: 'ApproximateNumberOfMessagesVisible', Threshold: 0 },
    EventBusDeadLettersPresentAlarm: { Dimensions: [named('QueueName', '<EventBusDeadLetters.QueueName>')] },
    WebhooksHandleDeadLettersPresentAlarm: { Threshold: 0 },
    OtpSendDeadLettersPresentAlarm: { Threshold: 0 },
    // Deliveries to one subscriber are delayed by up to 15 minutes.
    DeliveriesSendLateAlarm: { Threshold: 1800 },
    FunctionsThrottledAlarm: { Namespace: 'AWS/Lambda', MetricName: 'Throttles' },
    TableThrottledAlarm: {
      'Metrics.0.Expression': 'SUM([t0, t1, t2, t3])',
      'Metrics.1': metric('ReadThrottleEvents', [named('TableName', '<Table>')]),
      'Metrics.2': metric('WriteThrottleEvents', [named('TableName', '<Table>')]),
      'Metrics.3.MetricStat.Metric.Dimensions.0': named('GlobalSecondaryIndexName', 'by-id'),
      'Metrics.4.MetricStat.Metric.Dimensions.0': named('GlobalSecondaryIndexName', 'by-id'),
      ...page,
    },
    RequestsBlockedAlarm: {
      Dimensions: [named('Region', '<AWS::Region>'), named('Rule', 'ALL'), named('WebACL', 'commerce-prod')],
    },
  },
  'prod with a domain': {
    Domain: {
      DomainName: 'api.example.com',
      RegionalCertificateArn: withDomain['api.domain'].certificateArn,
      EndpointConfiguration: { Types: ['REGIONAL'] },
      ...tls,
    },
    AddressProbe: { 'Environment.Variables.PUBLIC_ADDRESS': 'https://api.example.com/' },
    Outputs: {
      'BaseUrl.Value': 'https://api.example.com/',
      'DomainTarget.Value': '<Domain.RegionalDomainName>',
      'DomainHostedZoneId.Value': '<Domain.RegionalHostedZoneId>',
    },
  },
  'prod with weekly backups': {
    Backups: {
      'BackupPlan.BackupPlanRule': [{ RuleName: 'weekly', ScheduleExpression: 'cron(0 3 ? * SUN *)' }],
    },
    // A note of each completed backup, for eight days.
    CompletedBackups: { MessageRetentionPeriod: 691_200 },
    CompletedBackupsPolicy: fedBy('CompletedBackupsRule'),
    CompletedBackupsRule: {
      EventPattern: {
        source: ['aws.backup'],
        'detail-type': ['Backup Job State Change'],
        detail: { state: ['COMPLETED'], backupVaultArn: ['<BackupVault.BackupVaultArn>'] },
      },
      Targets: [{ Arn: '<CompletedBackups.Arn>' }],
    },
  },
  'the alarms of prod with weekly backups': {
    WeeklyBackupMissingAlarm: {
      ...{ MetricName: 'ApproximateNumberOfMessagesVisible', ...silence, EvaluationPeriods: 1 },
      ...{ Dimensions: [named('QueueName', '<CompletedBackups.QueueName>')], ...page },
    },
    BackupCopyFailedAlarm: {
      ...{ Namespace: 'AWS/Backup', MetricName: 'NumberOfCopyJobsFailed', Threshold: 0 },
      ...{ Dimensions: [named('BackupVaultName', '<BackupVault.BackupVaultName>')], ...page },
    },
  },
  dev: {
    Api: { 'Tags.1': undefined, ...tls },
    Files: {
      [`${serverSide}.ServerSideEncryptionByDefault.SSEAlgorithm`]: 'AES256',
    },
  },
  local: {
    // The id is a part of the address.
    Api: { Tags: expect.arrayContaining([{ Key: 'ms-custom-id', Value: 'c0ffee01' }]) },
    Table: { DeletionPolicy: 'Delete', DeletionProtectionEnabled: false },
    Files: { DeletionPolicy: 'Delete' },
    Users: { DeletionPolicy: 'Delete', DeletionProtection: 'INACTIVE' },
  },
}

const rows = Object.entries(facts).flatMap(([stage, resources]) =>
  Object.entries(resources).flatMap(([id, properties]) =>
    Object.entries(properties).map(([path, value]) => [stage, `${id}.${path}`, value] as const),
  ),
)

test.each(rows)('on %s: %s', (stage, path, value) => {
  expect({ [path]: valueAt(templates[stage] as Template, path) }).toMatchObject({ [path]: value })
})

const ownKey = '<Key.Arn>'
/** The properties of every resource of a type on prod. */
test.each([
  // Everything that stores data has the key of the stage.
  ['AWS::DynamoDB::Table', 'SSESpecification.KMSMasterKeyId', ownKey],
  ['AWS::S3::Bucket', `${serverSide}.ServerSideEncryptionByDefault.KMSMasterKeyID`, ownKey],
  ['AWS::SQS::Queue', 'KmsMasterKeyId', ownKey],
  ['AWS::SNS::Topic', 'KmsMasterKeyId', ownKey],
  ['AWS::SecretsManager::Secret', 'KmsKeyId', ownKey],
  ['AWS::Logs::LogGroup', 'KmsKeyId', ownKey],
  ['AWS::StepFunctions::StateMachine', 'EncryptionConfiguration.KmsKeyId', ownKey],
  ['AWS::Events::EventBus', 'KmsKeyIdentifier', ownKey],
  ['AWS::Events::Archive', 'KmsKeyIdentifier', ownKey],
  ['AWS::Backup::BackupVault', 'EncryptionKeyArn', ownKey],
  // Few data keys: KMS charges for each.
  ['AWS::S3::Bucket', `${serverSide}.BucketKeyEnabled`, true],
  ['AWS::SQS::Queue', 'KmsDataKeyReusePeriodSeconds', 3600],
  ['AWS::SQS::QueuePolicy', 'PolicyDocument.Statement.0', { ...tlsOnly, Action: 'sqs:*' }],
  ['AWS::Logs::LogGroup', 'RetentionInDays', 180],
  // The Node of the tests.
  ['AWS::Lambda::Function', 'Runtime', `nodejs${process.versions.node.split('.')[0]}.x`],
  ['AWS::Lambda::Function', 'Architectures', ['arm64']],
  // The gateway decides.
  ['AWS::Lambda::Function', 'TracingConfig.Mode', 'PassThrough'],
  ['AWS::Lambda::Function', 'Handler', 'index.handler'],
  ['AWS::Lambda::Function', 'Environment.Variables.METRICS_NAMESPACE', 'commerce-prod'],
  // It names refunds at the payment provider: the same in another region.
  ['AWS::Lambda::Function', 'Environment.Variables.DEPLOYMENT', 'commerce-prod'],
  ['AWS::Lambda::Function', 'Environment.Variables.RELEASE', 'r1'],
  [
    'AWS::Lambda::Function',
    'Environment.Variables.STORAGE_SHARDS',
    JSON.stringify(settings['storage.shards']),
  ],
  // A version is kept when a newer one replaces it, and removed if its deployment fails.
  ['AWS::Lambda::Version', 'DeletionPolicy', 'RetainExceptOnCreate'],
  ['AWS::Lambda::Version', 'UpdateReplacePolicy', 'Retain'],
  ['AWS::Lambda::Alias', 'Name', 'live'],
])('on prod: every %s has its %s', (type, path, value) => {
  const found = [prod.template, prod.watch].flatMap((template) =>
    idsOf(template, type).map((id) => [id, valueAt(template, `${id}.${path}`)] as const),
  )
  expect(found.length).toBeGreaterThan(0)
  for (const [id, one] of found) expect({ [id]: one }).toMatchObject({ [id]: value })
})

test('on prod: every queue has a policy', () => {
  const policies = idsOf(prod.template, 'AWS::SQS::QueuePolicy')
  expect(policies).toEqual(idsOf(prod.template, 'AWS::SQS::Queue').map((id) => `${id}Policy`))
})

test('on prod: Lambda repeats no run of a schedule', () => {
  const targets = resourcesOf(prod.template, 'AWS::Scheduler::Schedule').map(([, { Properties }]) => {
    return String(Properties.Target.Arn)
  })
  const runs = targets.filter((arn) => /Live>$/.test(arn)).map((arn) => arn.slice(1, -'Live>'.length))
  expect(runs).toContain('SagasFinish')
  const once = resourcesOf(prod.template, 'AWS::Lambda::EventInvokeConfig').filter(
    ([, { Properties }]) =>
      Properties.MaximumRetryAttempts === 0 && Properties.MaximumEventAgeInSeconds === 60,
  )
  expect(once.map(([, { Properties }]) => Properties.FunctionName).sort()).toEqual(
    runs.map((id) => `<${id}>`).sort(),
  )
})

test('on prod: Lambda ends no chain of messages that a function sends to its own queue', () => {
  const feeding = resourcesOf(prod.template, 'AWS::Lambda::EventSourceMapping').flatMap(
    ([, { Properties }]) => {
      const [, id = ''] = /<(\w+)Live>/.exec(JSON.stringify(Properties.FunctionName)) ?? []
      const { Statement } = valueAt(prod.template, `${id}RoleDefaultPolicy.PolicyDocument`) as {
        Statement: { Action: string | string[]; Resource: unknown }[]
      }
      const feedsItself = Statement.some(
        ({ Action, Resource }) =>
          [Action].flat().includes('sqs:SendMessage') &&
          [Resource].flat().includes(Properties.EventSourceArn),
      )
      return feedsItself ? [id] : []
    },
  )
  expect(feeding).toContain('RefundsReconcile')
  const functions = resourcesOf(prod.template, 'AWS::Lambda::Function')
  const allowed = functions.filter(([, { Properties }]) => Properties.RecursiveLoop === 'Allow')
  expect(allowed.map(([id]) => id).sort()).toEqual(feeding.sort())
})

// The local engine rejects them.
test.each([
  ...['AWS::Events::Archive', 'AWS::SNS::Topic', 'AWS::CloudWatch::Dashboard'],
  ...['AWS::CloudWatch::Alarm', 'AWS::XRay::SamplingRule'],
  ...['AWS::WAFv2::WebACL', 'AWS::WAFv2::WebACLAssociation', 'AWS::WAFv2::LoggingConfiguration'],
])('on local: no %s', (type) => {
  expect([local.template, local.watch].flatMap((one) => resourcesOf(one, type))).toEqual([])
})

test('on prod, the note of backups exists only without nightly ones, and only one alarm misses them', () => {
  expect(idsOf(prod.template, 'AWS::SQS::Queue')).not.toContain('CompletedBackups')
  const missing = ({ watch }: { watch: Template }) =>
    idsOf(watch, 'AWS::CloudWatch::Alarm').filter((id) => /BackupMissing/.test(id))
  expect([prod, weekly].map(missing)).toEqual([['BackupMissingAlarm'], ['WeeklyBackupMissingAlarm']])
})

test('on prod, a stage without copies of backups has no alarm on them', () => {
  expect(idsOf(prod.watch, 'AWS::CloudWatch::Alarm')).not.toContain('BackupCopyFailedAlarm')
})
