import { expect, test } from '@jest/globals'
import { resourcesOf, synthesise, type Template } from './synthesis.ts'

const [prod, dev, local] = await Promise.all([synthesise('prod'), synthesise('dev'), synthesise('local')])
const { settings } = prod
const templates: Record<string, Template> = {
  prod: prod.template,
  'the alarms of prod': prod.watch,
  dev: dev.template,
  local: local.template,
}

const key = (AttributeName: string, KeyType: string) => ({ AttributeName, KeyType })
const tls = { SecurityPolicy: 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09', EndpointAccessMode: 'STRICT' }
const expiring = (folder: string, ExpirationInDays: number) => {
  return { Id: folder, Status: 'Enabled', Prefix: `${folder}/`, ExpirationInDays }
}
const tickets = [{ Ref: expect.stringMatching(/^Tickets/) }]

/**
 * The properties of the only resource of a type, with its id if there are several, in the templates of a stage.
 * `DeletionPolicy` is that of the resource. A property of undefined is absent.
 */
const facts: Record<string, Record<string, Record<string, unknown>>> = {
  prod: {
    'AWS::DynamoDB::Table': {
      DeletionPolicy: 'Retain',
      DeletionProtectionEnabled: true,
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      ContributorInsightsSpecification: undefined,
      KeySchema: [key('pk', 'HASH'), key('sk', 'RANGE')],
      GlobalSecondaryIndexes: [
        { IndexName: 'by-id', KeySchema: [key('id', 'HASH')], Projection: { ProjectionType: 'KEYS_ONLY' } },
      ],
    },
    'AWS::SecretsManager::Secret DeploymentSecret': {
      DeletionPolicy: 'RetainExceptOnCreate',
      GenerateSecretString: { ExcludePunctuation: true, PasswordLength: 64 },
    },
    // The probe has no API key until the operator stores one.
    'AWS::SecretsManager::Secret ProbeSecret': { SecretString: 'none' },
    'AWS::KMS::Key': { DeletionPolicy: 'RetainExceptOnCreate', EnableKeyRotation: true },
    'AWS::KMS::Alias': {
      AliasName: 'alias/commerce-prod',
      TargetKeyId: { 'Fn::GetAtt': [expect.stringMatching(/^Key[0-9A-F]{8}$/), 'Arn'] },
    },
    'AWS::SQS::Queue EventsRelayDeadLetters': { MessageRetentionPeriod: 1_209_600 },
    'AWS::SQS::Queue Webhooks': { RedrivePolicy: { maxReceiveCount: settings['webhooks.maxAttempts'] } },
    'AWS::SQS::Queue WebhooksDeadLetters': { MessageRetentionPeriod: 1_209_600 },
    'AWS::Events::Archive': {
      EventPattern: { source: ['commerce-api'] },
      RetentionDays: settings['events.replay'].archiveDays,
    },
    'AWS::S3::Bucket': {
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
    'AWS::ApiGateway::RestApi': {
      EndpointConfiguration: { Types: ['REGIONAL'] },
      // Bodies are forwarded unchanged, so functions receive invalid UTF-8.
      BinaryMediaTypes: ['application/json', 'text/csv'],
      ...tls,
    },
    'AWS::SES::EmailIdentity': {
      EmailIdentity: 'mail.acme.cloud',
      DkimAttributes: { SigningEnabled: true },
      MailFromAttributes: {
        MailFromDomain: 'bounce.mail.acme.cloud',
        BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
      },
    },
    'AWS::SES::ConfigurationSet': {
      SuppressionOptions: { SuppressedReasons: ['BOUNCE', 'COMPLAINT'] },
      ReputationOptions: { ReputationMetricsEnabled: true },
    },
    'AWS::Cognito::UserPool': {
      DeletionPolicy: 'Retain',
      DeletionProtection: 'ACTIVE',
      AdminCreateUserConfig: { AllowAdminCreateUserOnly: true },
      UsernameAttributes: ['email'],
      UsernameConfiguration: { CaseSensitive: false },
      Policies: {
        PasswordPolicy: {
          MinimumLength: 12,
          ...{ RequireLowercase: true, RequireUppercase: true, RequireNumbers: true, RequireSymbols: true },
        },
      },
      AccountRecoverySetting: { RecoveryMechanisms: [{ Name: 'verified_email', Priority: 1 }] },
      MfaConfiguration: 'OPTIONAL',
      EnabledMfas: ['SOFTWARE_TOKEN_MFA'],
      Schema: [
        { Name: 'tenant', Mutable: false },
        { Name: 'role', Mutable: true },
      ],
    },
    'AWS::Cognito::UserPoolClient': {
      // No flow for direct logins.
      ExplicitAuthFlows: ['ALLOW_ADMIN_USER_PASSWORD_AUTH', 'ALLOW_REFRESH_TOKEN_AUTH'],
      PreventUserExistenceErrors: 'ENABLED',
      EnableTokenRevocation: true,
      GenerateSecret: false,
      AllowedOAuthFlowsUserPoolClient: false,
      // Users change neither their tenant, nor their role, nor their e-mail.
      WriteAttributes: ['locale'],
      ReadAttributes: ['email', 'email_verified'],
    },
  },
  'the alarms of prod': {
    'AWS::CloudWatch::Alarm BackupMissingAlarm': {
      ...{ Namespace: 'AWS/Backup', MetricName: 'NumberOfBackupJobsCompleted' },
      ...{ ComparisonOperator: 'LessThanThreshold', Threshold: 1, Period: 3600, EvaluationPeriods: 30 },
      TreatMissingData: 'breaching',
    },
    'AWS::CloudWatch::Alarm RefundsDifferAlarm': {
      ...{ Namespace: 'commerce-prod', MetricName: 'differences' },
      ...{ Dimensions: [{ Name: 'work', Value: 'refunds' }], Statistic: 'Sum', Threshold: 0, Period: 86_400 },
      AlarmActions: tickets,
    },
    'AWS::CloudWatch::Alarm ConcurrencyHighAlarm': {
      Threshold: 80,
      ComparisonOperator: 'GreaterThanThreshold',
    },
    'AWS::CloudWatch::Alarm EventsRelayLateAlarm': { MetricName: 'IteratorAge', Threshold: 60_000 },
    'AWS::CloudWatch::Alarm EventsRelayDeadLettersPresentAlarm': {
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Threshold: 0,
    },
    'AWS::CloudWatch::Alarm WebhooksHandleDeadLettersPresentAlarm': { Threshold: 0 },
    'AWS::CloudWatch::Alarm FunctionsThrottledAlarm': { Namespace: 'AWS/Lambda', MetricName: 'Throttles' },
    // The rates at which SES reviews an account.
    'AWS::CloudWatch::Alarm MailBouncesAlarm': {
      ...{ Namespace: 'AWS/SES', MetricName: 'Reputation.BounceRate', Threshold: 0.05 },
      AlarmActions: tickets,
    },
    'AWS::CloudWatch::Alarm MailComplaintsAlarm': {
      ...{ Namespace: 'AWS/SES', MetricName: 'Reputation.ComplaintRate', Threshold: 0.001 },
      AlarmActions: tickets,
    },
  },
  dev: {
    'AWS::ApiGateway::RestApi': tls,
    'AWS::S3::Bucket': {
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
    },
  },
  local: {
    'AWS::DynamoDB::Table': { DeletionPolicy: 'Delete', DeletionProtectionEnabled: false },
    'AWS::S3::Bucket': { DeletionPolicy: 'Delete' },
    'AWS::Cognito::UserPool': { DeletionPolicy: 'Delete', DeletionProtection: 'INACTIVE' },
  },
}

const rows = Object.entries(facts).flatMap(([stage, resources]) =>
  Object.entries(resources).flatMap(([named, properties]) =>
    Object.entries(properties).map(([property, value]) => [stage, named, property, value] as const),
  ),
)

test.each(rows)('on %s, the resource %s has its %s', (stage, named, property, value) => {
  const [type = '', name = ''] = named.split(' ')
  const found = resourcesOf(templates[stage] as Template, type).filter(
    ([id]) => name === '' || id.replace(/[0-9A-F]{8}$/, '') === name,
  )
  expect(found).toHaveLength(1)
  const { DeletionPolicy, Properties } = found[0]?.[1] ?? { Properties: {} }
  const all: Record<string, unknown> = { DeletionPolicy, ...Properties }
  expect({ [property]: all[property] }).toMatchObject({ [property]: value })
})

test.each(['AWS::Events::Archive', 'AWS::CloudWatch::Alarm', 'AWS::SNS::Topic'])(
  'the local engine rejects %s, so the local stage has none',
  (type) => expect(resourcesOf(local.template, type)).toEqual([]),
)
