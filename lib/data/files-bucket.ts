import { Duration, Validations } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { BlockPublicAccess, Bucket, BucketEncryption, HttpMethods, ObjectOwnership } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import { exportFolder, importFolder, rejectFolder, tableFolder } from '#shared/platform/formats/file-store.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from '../stage.ts'
import { removalPolicyOf } from './data-table.ts'

/**
 * Creates the bucket for files too large for a response or a message. Exports are deleted after a day: callers download
 * those of codes by a link, and operators read those of the table. Files to import hold personal data and are deleted
 * after a day, too. Their rejected rows are kept as long as the operation.
 */
export function filesBucket(scope: Construct, stage: Stage, settings: Settings, key?: Key): Bucket {
  const bucket = new Bucket(scope, 'Files', {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    ...(key
      ? { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    cors: [
      {
        allowedMethods: [HttpMethods.GET, HttpMethods.HEAD],
        // After the redirect from the API to the bucket, browsers send the origin `null` (Fetch, 'HTTP-redirect fetch').
        // It opens nothing: only a signed link gives a file, with any origin.
        allowedOrigins: [...settings['cors.allowedOrigins'], 'null'],
        // Browsers send the headers of the first request again, except Authorization.
        allowedHeaders: ['*'],
        exposedHeaders: ['Content-Disposition'],
        maxAge: 600,
      },
    ],
    lifecycleRules: [
      { id: 'exports', prefix: exportFolder, expiration: Duration.days(1) },
      { id: 'table', prefix: `${tableFolder}/`, expiration: Duration.days(1) },
      { id: 'imports', prefix: importFolder, expiration: Duration.days(1) },
      {
        id: 'rejects',
        prefix: rejectFolder,
        expiration: Duration.days(settings['operations.retentionDays']),
      },
      { id: 'unfinished', abortIncompleteMultipartUploadAfter: Duration.days(1) },
    ],
    removalPolicy: removalPolicyOf(stage),
  })
  Validations.of(bucket).acknowledge({
    id: 'AwsSolutions-S1',
    reason:
      'The service audits each export and import itself. Access logs would keep who downloaded files that expire after a day.',
  })
  return bucket
}
