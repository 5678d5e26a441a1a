import { describe, expect, test } from '@jest/globals'
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
