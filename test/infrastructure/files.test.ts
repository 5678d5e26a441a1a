import { describe, expect, test } from '@jest/globals'
import type { Right } from '#lib/rights.ts'
import { inCdkProcess } from './cdk-process.ts'
import { type Resource, resourcesOf, synthesise } from './synthesis.ts'

const { template, settings } = await synthesise('prod')
const [[bucketId, bucket]] = resourcesOf(template, 'AWS::S3::Bucket') as [[string, Resource]]

describe('the bucket', () => {
  test('is the only one, survives the stack and is private to it', () => {
    expect(resourcesOf(template, 'AWS::S3::Bucket')).toHaveLength(1)
    expect(bucket.DeletionPolicy).toBe('RetainExceptOnCreate')
    expect(bucket.Properties.PublicAccessBlockConfiguration).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    })
    expect(bucket.Properties.OwnershipControls).toEqual({
      Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }],
    })
  })

  test('is encrypted and unversioned, so expired files are deleted', async () => {
    const dev = await synthesise('dev')
    const [[, other]] = resourcesOf(dev.template, 'AWS::S3::Bucket') as [[string, Resource]]
    const { BucketEncryption: encryption, VersioningConfiguration: versions } = other.Properties
    expect(encryption.ServerSideEncryptionConfiguration).toEqual([
      { ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } },
    ])
    expect([versions, bucket.Properties.VersioningConfiguration]).toEqual([undefined, undefined])
  })

  test('requires TLS, and its policy grants nothing', () => {
    const policies = resourcesOf(template, 'AWS::S3::BucketPolicy')
    expect(policies.map(([, { Properties }]) => Properties)).toEqual([
      {
        Bucket: { Ref: bucketId },
        PolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            {
              Effect: 'Deny',
              Principal: { AWS: '*' },
              Action: 's3:*',
              Resource: [
                { 'Fn::GetAtt': [bucketId, 'Arn'] },
                { 'Fn::Join': ['', [{ 'Fn::GetAtt': [bucketId, 'Arn'] }, '/*']] },
              ],
              Condition: { Bool: { 'aws:SecureTransport': 'false' } },
            },
          ],
        },
      },
    ])
  })

  test('deletes exports, imported files and parts of incomplete uploads after a day, and rejects with their operations', () => {
    expect(bucket.Properties.LifecycleConfiguration).toEqual({
      Rules: [
        { Id: 'exports', Status: 'Enabled', Prefix: 'exports/', ExpirationInDays: 1 },
        { Id: 'imports', Status: 'Enabled', Prefix: 'imports/', ExpirationInDays: 1 },
        {
          Id: 'rejects',
          Status: 'Enabled',
          Prefix: 'rejects/',
          ExpirationInDays: settings['operations.retentionDays'],
        },
        { Id: 'unfinished', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
      ],
    })
  })

  test('lets pages of the allowed origins follow an export, also by a redirect from the API', () => {
    expect(bucket.Properties.CorsConfiguration.CorsRules).toEqual([
      {
        AllowedMethods: ['GET', 'HEAD'],
        AllowedOrigins: [...settings['cors.allowedOrigins'], 'null'],
        AllowedHeaders: ['*'],
        ExposedHeaders: ['Content-Disposition'],
        MaxAge: 600,
      },
    ])
  })

  test('is named by an output, and no function empties it', () => {
    expect(template.Outputs?.FilesBucketName).toMatchObject({ Value: { Ref: bucketId } })
    expect(resourcesOf(template, 'Custom::S3AutoDeleteObjects')).toEqual([])
  })

  test('is deleted with the local stage', async () => {
    const local = await synthesise('local')
    const [[, mine]] = resourcesOf(local.template, 'AWS::S3::Bucket') as [[string, Resource]]
    expect(mine.DeletionPolicy).toBe('Delete')
  })
})

describe('permissions', () => {
  test.each<[Right[], string[]]>([
    [['files.write'], ['s3:PutObject', 's3:AbortMultipartUpload']],
    [['files.link'], ['s3:GetObject']],
    [
      ['files.write', 'files.link'],
      ['s3:PutObject', 's3:AbortMultipartUpload', 's3:GetObject'],
    ],
  ])('%j are limited to the exports, with an explanation', async (uses, actions) => {
    const { template: granted, brokenRules } = await inCdkProcess('granted', uses)
    const own = resourcesOf(granted, 'AWS::S3::Bucket')[0]?.[0]
    const statements = resourcesOf(granted, 'AWS::IAM::Policy').flatMap(
      ([, { Properties }]) => Properties.PolicyDocument.Statement,
    )
    expect(statements.flatMap(({ Action }) => Action).sort()).toEqual(actions.sort())
    for (const { Effect, Resource: on } of statements) {
      expect([Effect, on]).toEqual([
        'Allow',
        { 'Fn::Join': ['', [{ 'Fn::GetAtt': [own, 'Arn'] }, '/exports/*']] },
      ])
    }
    expect(brokenRules).not.toContain('AwsSolutions-IAM5')
  })
})
