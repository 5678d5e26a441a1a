import * as v from 'valibot'
import { integer, list, setting, text } from '../setting.ts'

const domainName =
  /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/

/** An ARN in the stack's partition; `pattern` begins with the service. */
function arn(pattern: string, of: string) {
  return text(new RegExp(`^arn:aws[a-z-]*:${pattern}$`), `the ARN of ${of}`)
}

/** AWS Backup keeps a backup for a hundred years at most. */
const maxBackupDays = 36_500
const backupDays = integer(1, maxBackupDays)

/** Resources on AWS; requests do not depend on them. */
export const deployment = {
  'aws.environment': setting(
    'deployment',
    'Account and region of the stack; null for the local run only',
    v.nullable(
      v.strictObject({
        account: text(/^\d{12}$/, 'the number of an account, with 12 digits'),
        region: text(/^[a-z]{2,4}(?:-[a-z]+)+-\d$/, 'a region such as eu-west-1'),
      }),
    ),
  ),
  'api.domain': setting(
    'deployment',
    'Host name of the API and its ACM certificate in the region of the stack; null for the address of the gateway only',
    v.nullable(
      v.strictObject({
        host: text(domainName, 'a host name in lower case such as api.acme.cloud'),
        certificateArn: arn('acm:[a-z0-9-]+:\\d{12}:certificate\\/[A-Za-z0-9-]+', 'a certificate of ACM'),
      }),
    ),
  ),
  'api.gatewayAddress': setting(
    'deployment',
    'Whether the address of the gateway also serves the API; closed requires api.domain (API Gateway: open)',
    v.picklist(['open', 'closed']),
  ),
  'stages.dev': setting(
    'deployment',
    'Whether stage dev has alarms with a dashboard and their metrics, and web ACLs. The other stages on AWS always have both; stage dev wakes nobody and keeps no data',
    v.strictObject({ alarms: v.boolean(), webAcl: v.boolean() }),
  ),
  'traces.share': setting(
    'tuning',
    'Share of the requests that are traced, from 0 to 1 (AWS X-Ray: 0.05, and one request each second)',
    v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
  ),
  'storage.contributorInsights': setting(
    'deployment',
    'Whether the most accessed and the throttled partition keys of the table are reported (CloudWatch Contributor Insights)',
    v.boolean(),
  ),
  'storage.warmThroughput': setting(
    'deployment',
    'Write and read units a second that the table takes at once, at least those of a new table; null for those that AWS keeps ready (DynamoDB warm throughput)',
    v.nullable(v.strictObject({ writeUnits: integer(4000), readUnits: integer(12_000) })),
  ),
  'storage.backups': setting(
    'deployment',
    'Days that nightly and weekly backups are kept, the lock of their vault, and the vaults that receive a copy, with days within the limits of their locks (AWS Backup). With keptDays 0 there are only weekly backups: if the table is lost with its point-in-time recovery, so are the changes of up to a week',
    v.pipe(
      v.strictObject({
        keptDays: integer(0, maxBackupDays),
        weeklyKeptDays: integer(8, maxBackupDays),
        lock: v.nullable(
          v.strictObject({ minDays: backupDays, maxDays: backupDays, changeableDays: integer(3) }),
        ),
        copies: list(
          v.strictObject({
            vaultArn: arn('backup:[a-z0-9-]+:\\d{12}:backup-vault:[\\w-]{2,50}', 'a vault'),
            keptDays: backupDays,
          }),
        ),
      }),
      v.check(
        ({ keptDays, weeklyKeptDays, lock }) =>
          !lock ||
          [keptDays || weeklyKeptDays, weeklyKeptDays].every(
            (days) => lock.minDays <= days && days <= lock.maxDays,
          ),
        'keptDays and weeklyKeptDays must be within the limits of the lock',
      ),
      v.check(
        ({ keptDays, weeklyKeptDays }) => keptDays < weeklyKeptDays,
        'weeklyKeptDays must be above keptDays: each night has a backup already',
      ),
      v.check(
        ({ copies }) => new Set(copies.map(({ vaultArn }) => vaultArn)).size === copies.length,
        'two copies are in the same vault',
      ),
    ),
  ),
  'storage.restoredTable': setting(
    'deployment',
    'Restored table that the stack adopts; null for the table of the stack',
    v.nullable(
      v.pipe(
        v.strictObject({
          tableName: text(/^[\w.-]{3,255}$/, 'the name of a table'),
          streamArn: arn('dynamodb:[a-z0-9-]+:\\d{12}:table\\/[\\w.-]+\\/stream\\/.+', 'a stream'),
        }),
        v.check(
          ({ tableName, streamArn }) => streamArn.split('/')[1] === tableName,
          'the stream is of another table',
        ),
      ),
    ),
  ),
}
