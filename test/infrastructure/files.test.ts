import { describe, expect, test } from '@jest/globals'
import type { Right } from '#lib/rights.ts'
import { inCdkProcess } from './cdk-process.ts'
import { type Resource, resourcesOf, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')
const [[bucketId, _bucket]] = resourcesOf(template, 'AWS::S3::Bucket') as [[string, Resource]]

describe('the bucket', () => {
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

  test('is named by an output, and no function empties it', () => {
    expect(template.Outputs?.FilesBucketName).toMatchObject({ Value: { Ref: bucketId } })
    expect(resourcesOf(template, 'Custom::S3AutoDeleteObjects')).toEqual([])
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
