import { describe, expect, test } from '@jest/globals'
import { type Resource, synthesise } from './synthesis.ts'

const { stacks } = await synthesise('prod')
const all = Object.values(stacks).flatMap(({ Resources }) => Object.entries(Resources))
const outliving = all.filter(([, { DeletionPolicy: policy = '' }]) => policy.startsWith('Retain'))

/** The name of a resource in the template; undefined if CloudFormation generates one. */
function ownName({ Properties: properties = {} }: Resource): string | undefined {
  const found = Object.entries(properties).find(
    ([key, value]) => /Name$/.test(key) && !JSON.stringify(value).startsWith('{"Ref"'),
  )
  return found && `${found[0]}: ${JSON.stringify(found[1])}`
}

const isProtected = ({ Properties: { DeletionProtectionEnabled, DeletionProtection } }: Resource) =>
  DeletionProtectionEnabled === true || DeletionProtection === 'ACTIVE'

describe('after a failed first deployment', () => {
  test('resources that survive the stack and have a fixed name are deleted, so their names are free', () => {
    const left = outliving.filter(([, one]) => one.DeletionPolicy === 'Retain' && ownName(one) !== undefined)
    expect(left.map(([id, one]) => `${id} has the ${ownName(one)}`)).toEqual([])
  })

  test('only resources with deletion protection remain', () => {
    const left = outliving.filter(
      ([, one]) => one.DeletionPolicy === 'Retain' && one.Type !== 'AWS::Lambda::Version',
    )
    expect(left.map(([, { Type }]) => Type).sort()).toEqual([
      'AWS::Cognito::UserPool',
      'AWS::DynamoDB::Table',
    ])
    expect(left.filter(([, one]) => !isProtected(one))).toEqual([])
  })
})

test.each([
  'AWS::Backup::BackupVault',
  'AWS::Cognito::UserPool',
  'AWS::DynamoDB::Table',
  'AWS::KMS::Key',
  'AWS::S3::Bucket',
  'AWS::SecretsManager::Secret',
])('every %s survives the stack and its replacement', (type) => {
  const found = all.filter(([, { Type }]) => Type === type)
  expect(found.length).toBeGreaterThan(0)
  for (const [, { DeletionPolicy: deletion, UpdateReplacePolicy: replacement }] of found) {
    expect(deletion).toMatch(/^Retain/)
    expect(replacement).toBe('Retain')
  }
})
