/** The list prices of a region in USD, without free tiers. Nothing else of the page on costs is typed by hand. */
export const region = 'us-east-1'

export interface Price {
  usd: number
  /** The priced item. */
  per: string
  /** The AWS page that lists it. */
  source: string
  /** The year in which the page was last checked; absent if it was not checked again. */
  pageOf?: string
}

const cloudWatch = 'Amazon CloudWatch pricing'
const waf = 'AWS WAF pricing'
const dynamodb = 'Amazon DynamoDB pricing'
const sqs = 'Amazon SQS pricing'
const lambda = 'AWS Lambda pricing'
/** Its test of EventBridge holds the prices of the AWS price list. The page of AWS itself could not be read. */
const archivePrices = 'AWS price list, as Infracost reads it'

export const prices = {
  alarmMetric: { usd: 0.1, per: 'metric of an alarm and month', source: cloudWatch },
  compositeAlarm: { usd: 0.5, per: 'composite alarm and month', source: cloudWatch },
  customMetric: { usd: 0.3, per: 'custom metric and month, of the first 10,000', source: cloudWatch },
  dashboard: { usd: 3, per: 'dashboard and month', source: cloudWatch },
  logIngested: { usd: 0.5, per: 'GB of logs', source: cloudWatch },
  logStored: { usd: 0.03, per: 'GB of logs and month', source: cloudWatch },
  logScanned: { usd: 0.12, per: 'GB of logs that data protection scans', source: cloudWatch },
  webAcl: { usd: 5, per: 'web ACL and month', source: waf },
  webAclRule: { usd: 1, per: 'rule or managed group and month', source: waf },
  webAclRequest: { usd: 0.6, per: 'million requests', source: waf },
  captcha: { usd: 0.4, per: 'thousand CAPTCHA attempts', source: waf },
  secret: { usd: 0.4, per: 'secret and month', source: 'AWS Secrets Manager pricing' },
  key: { usd: 1, per: 'key and month', source: 'AWS KMS pricing', pageOf: '2025' },
  keyRequest: { usd: 3, per: 'million requests', source: 'AWS KMS pricing', pageOf: '2025' },
  gatewayRequest: {
    usd: 3.5,
    per: 'million requests, of the first 333 million a month',
    source: 'Amazon API Gateway pricing',
    pageOf: '2025',
  },
  lambdaCall: { usd: 0.2, per: 'million calls', source: lambda, pageOf: '2025' },
  lambdaSecond: { usd: 0.0000133334, per: 'GB second on arm64', source: lambda, pageOf: '2025' },
  provisionedSecond: {
    usd: 0.0000033334,
    per: 'GB second of provisioned concurrency on arm64',
    source: lambda,
    pageOf: '2025',
  },
  writeUnit: { usd: 0.625, per: 'million write units on demand', source: dynamodb, pageOf: '2024' },
  readUnit: { usd: 0.125, per: 'million read units on demand', source: dynamodb, pageOf: '2024' },
  tableStored: { usd: 0.25, per: 'GB and month, after the first 25 GB', source: dynamodb },
  pointInTime: { usd: 0.2, per: 'GB and month of point-in-time recovery', source: dynamodb },
  backupStored: { usd: 0.1, per: 'GB and month of warm backups', source: 'AWS Backup pricing' },
  event: { usd: 1, per: 'million events', source: 'Amazon EventBridge pricing' },
  message: { usd: 0.4, per: 'million requests to a queue', source: sqs, pageOf: '2026' },
  fairMessage: {
    usd: 0.1,
    per: 'million requests to a fair queue, in addition',
    source: sqs,
    pageOf: '2026',
  },
  archived: {
    usd: 0.1,
    per: 'GB of events that an archive takes',
    source: archivePrices,
    pageOf: '2023 or later',
  },
  archiveStored: {
    usd: 0.023,
    per: 'GB and month of an archive',
    source: archivePrices,
    pageOf: '2023 or later',
  },
  scheduledCall: { usd: 1, per: 'million calls of a schedule', source: 'Amazon EventBridge pricing' },
  trace: { usd: 5, per: 'million traces', source: 'AWS X-Ray pricing' },
  user: {
    usd: 0.015,
    per: 'user and month, tier Essentials, after the first 10,000',
    source: 'Amazon Cognito pricing',
  },
  mail: { usd: 0.1, per: 'thousand mails', source: 'Amazon SES pricing' },
} as const satisfies Record<string, Price>
