import { expect, test } from '@jest/globals'
import { synthesize } from './synthesis.ts'

const { stacks } = await synthesize('prod')

/** The properties whose change makes CloudFormation replace a resource, by its type. A changed logical id or stack replaces it, too. */
const replacing: Record<string, string[]> = {
  'AWS::ApiGateway::RestApi': [],
  'AWS::Backup::BackupVault': ['BackupVaultName', 'EncryptionKeyArn'],
  'AWS::Cognito::UserPool': ['AliasAttributes', 'UsernameAttributes', 'UsernameConfiguration'],
  'AWS::Cognito::UserPoolClient': ['UserPoolId', 'GenerateSecret'],
  'AWS::DynamoDB::Table': ['TableName', 'KeySchema', 'LocalSecondaryIndexes'],
  'AWS::Events::EventBus': ['Name'],
  'AWS::KMS::Key': ['KeySpec', 'KeyUsage', 'MultiRegion'],
  'AWS::S3::Bucket': ['BucketName'],
  'AWS::SecretsManager::Secret': ['Name'],
  'AWS::SNS::Topic': ['TopicName', 'FifoTopic'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
}

const released: Record<string, Record<string, Record<string, unknown>>> = {
  // With data: a resource that replaces one is empty.
  'AWS::DynamoDB::Table': {
    TableCD117FA1: {
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
    },
  },
  'AWS::Cognito::UserPool': {
    Users0A0EEA89: { UsernameAttributes: ['email'], UsernameConfiguration: { CaseSensitive: false } },
  },
  'AWS::KMS::Key': { Key961B73FD: {} },
  'AWS::S3::Bucket': { Files8E6940B8: {} },
  'AWS::Backup::BackupVault': {
    BackupVault3A9C5852: {
      // The end of the stack's UUID.
      BackupVaultName: expect.anything(),
      EncryptionKeyArn: { 'Fn::GetAtt': ['Key961B73FD', 'Arn'] },
    },
  },
  'AWS::SecretsManager::Secret': {
    CodesSecret102C4477: {},
    CursorsSecret0AA8413B: {},
    HashesSecret35623A60: {},
    MailsSecretA4D64E06: {},
    OneTimeCodesSecret82E3157C: {},
    PaymentsSecret2EDF7B1F: {},
    ProbeSecret93AB9ACD: {},
    ResetsSecretE5F3C197: {},
    SessionsSecret410F2C6E: {},
    StripeWebhooksSecretDB40BC34: {},
    SubscribersSecretE582653C: {},
    WebhooksSecret784E2348: {},
  },
  'AWS::SQS::Queue': {
    DeliveriesBF2F7293: {},
    DeliveriesDeadLetters9E72E000: {},
    EventBusDeadLetters8B1DE8B5: {},
    EventsRelayDeadLetters8D8E3982: {},
    ImportsC5EA4F6F: {},
    ImportsDeadLetters85BEE4D4: {},
    Mail6A3D1F64: {},
    MailDeadLettersAFC68608: {},
    MailEventsDeadLettersE108842E: {},
    MailEventsE4612002: {},
    PasswordResets5C52DAB5: {},
    PasswordResetsDeadLettersE330CE10: {},
    PublishedEventsCCC0DEB8: {},
    PublishedEventsDeadLetters09417702: {},
    Reconciliations96D290C6: {},
    ReconciliationsDeadLetters0B63488E: {},
    TasksEnqueueDeadLettersFC2592D3: {},
    WebhooksA50342DA: {},
    WebhooksDeadLetters34CF3D9E: {},
  },
  // With an address that callers, subscribers or operators know: a resource that replaces one has another.
  'AWS::ApiGateway::RestApi': { ApiF70053CD: {} },
  'AWS::Cognito::UserPoolClient': {
    UsersLoginClientDDFB0561: { UserPoolId: { Ref: 'Users0A0EEA89' }, GenerateSecret: false },
  },
  'AWS::Events::EventBus': { EventBus7B8748AA: { Name: 'commerce-prod' } },
  'AWS::SNS::Topic': { Pages127DFD1A: {} },
}

const each = Object.entries(released).flatMap(([type, resources]) =>
  Object.entries(resources).map(([id, properties]) => ({ id, type, properties })),
)

test.each(each)('an update from the last release does not replace $id', ({ id, type, properties }) => {
  const stack = type === 'AWS::SNS::Topic' ? 'Watch' : 'commerce-prod'
  const { Type, Properties = {} } = stacks[stack]?.Resources[id] ?? {}
  const replacements = Object.entries(Properties).filter(([name]) => replacing[type]?.includes(name))
  expect({ Type, ...Object.fromEntries(replacements) }).toEqual({ Type: type, ...properties })
})
