import * as v from 'valibot'
import { setting } from '../setting.ts'

const count = v.pipe(v.number(), v.integer(), v.minValue(1))
const hostName = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/
const certificateArn = /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[A-Za-z0-9-]+$/

/** Settings of the resources on AWS. Requests do not depend on them. */
export const deployment = {
  'api.domain': setting({
    open: 'the host name of the API and its ACM certificate in the region of the stack; null for the address of the gateway alone',
    contract: 'What the service does',
    feature: 'platform',
    schema: v.nullable(
      v.strictObject({
        host: v.pipe(v.string(), v.regex(hostName, 'a host name in lower case such as api.acme.cloud')),
        certificateArn: v.pipe(v.string(), v.regex(certificateArn, 'the ARN of a certificate of ACM')),
      }),
    ),
  }),
  'api.gatewayAddress': setting({
    open: 'whether the API can still be reached under the address of the gateway; closed needs api.domain',
    contract: 'What the service does',
    feature: 'platform',
    precedent: 'API Gateway: open',
    schema: v.picklist(['open', 'closed']),
  }),
  'storage.backups': setting({
    open: 'how many days a nightly backup is kept, the lock of its vault, and the vaults that receive a copy',
    contract: 'What the service does',
    feature: 'platform',
    precedent: 'AWS Backup',
    schema: v.pipe(
      v.strictObject({
        keptDays: count,
        lock: v.nullable(
          v.strictObject({ minDays: count, maxDays: count, changeableDays: v.pipe(count, v.minValue(3)) }),
        ),
        copies: v.array(
          v.strictObject({
            vaultArn: v.pipe(
              v.string(),
              v.regex(
                /^arn:aws[a-z-]*:backup:[a-z0-9-]+:\d{12}:backup-vault:[\w-]{2,50}$/,
                'the ARN of a vault',
              ),
            ),
            keptDays: count,
          }),
        ),
      }),
      v.check(
        ({ keptDays, lock }) => !lock || (lock.minDays <= keptDays && keptDays <= lock.maxDays),
        'keptDays has to lie within the lock',
      ),
    ),
  }),
  'storage.restoredTable': setting({
    open: 'the table that a restore made and the stack adopts; null for the table of the stack',
    contract: 'What the service does',
    feature: 'platform',
    schema: v.nullable(
      v.strictObject({
        tableName: v.pipe(v.string(), v.regex(/^[\w.-]{3,255}$/, 'the name of a table')),
        streamArn: v.pipe(
          v.string(),
          v.regex(
            /^arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:\d{12}:table\/[\w.-]+\/stream\/.+$/,
            'the ARN of a stream',
          ),
        ),
      }),
    ),
  }),
}
