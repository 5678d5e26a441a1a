import { describe, expect, test } from '@jest/globals'
import { behindDomain } from './stage-settings.ts'
import { type Resource, resourcesOf, synthesise, type Template } from './synthesis.ts'

/** Each synthesis is a process. */
const stages: [stage: string, Template][] = [
  ['dev', (await synthesise('dev', { changes: behindDomain })).template],
  ['staging', (await synthesise('staging')).template],
  ['prod', (await synthesise('prod')).template],
]
// The role with which the gateway logs is a setting of the account, which the next stack sets again.
const always = ['AWS::ApiGateway::Account', 'AWS::IAM::Role', 'AWS::Lambda::Version']
const data = [
  'AWS::Backup::BackupVault',
  'AWS::Cognito::UserPool',
  'AWS::DynamoDB::Table',
  'AWS::KMS::Key',
  'AWS::S3::Bucket',
  'AWS::SecretsManager::Secret',
]
const isRetained = ({ DeletionPolicy = '' }: Resource) => DeletionPolicy.startsWith('Retain')
const retained = ({ Resources }: Template) => Object.entries(Resources).filter(([, one]) => isRetained(one))

/** Whether a name is the same in each stack of the stage: it refers neither to the stack's id nor to a resource. */
function isFixed(value: unknown, { Resources }: Template): boolean {
  const references = [...JSON.stringify(value).matchAll(/"(?:Ref|Fn::GetAtt)":\[?"([\w:]+)"/g)]
  return !references.some(([, id = '']) => id === 'AWS::StackId' || id in Resources)
}

describe.each(stages)('a deleted stage %s can be deployed again:', (stage, template) => {
  test('no resource that stays has a fixed name', () => {
    const named = retained(template).flatMap(([id, { Properties }]) =>
      Object.entries(Properties ?? {}).flatMap(([property, value]) =>
        /^(\w+Name|Name)$/.test(property) && isFixed(value, template) ? [`${id}: ${property}`] : [],
      ),
    )
    expect(named).toEqual([])
  })

  test('these types of resources stay', () => {
    const types = new Set(retained(template).map(([, { Type }]) => Type))
    expect([...types].sort()).toEqual((stage === 'dev' ? always : [...always, ...data]).toSorted())
  })
})

const [, prod] = stages.at(-1) as [string, Template]

test.each(data)('every %s survives the stack prod and its replacement', (type) => {
  const found = resourcesOf(prod, type)
  expect(found.length).toBeGreaterThan(0)
  for (const [, { DeletionPolicy: deletion, UpdateReplacePolicy: replacement }] of found) {
    expect(deletion).toMatch(/^Retain/)
    expect(replacement).toBe('Retain')
  }
})

test('after a failed first deployment of prod, only resources with deletion protection remain', () => {
  const left = Object.values(prod.Resources).filter(
    ({ DeletionPolicy, Type }) => DeletionPolicy === 'Retain' && Type !== 'AWS::Lambda::Version',
  )
  expect(left.map(({ Type }) => Type).sort()).toEqual(['AWS::Cognito::UserPool', 'AWS::DynamoDB::Table'])
  const isProtected = ({ Properties: { DeletionProtectionEnabled, DeletionProtection } }: Resource) =>
    DeletionProtectionEnabled === true || DeletionProtection === 'ACTIVE'
  expect(left.filter((one) => !isProtected(one))).toEqual([])
})

test('the name of the backup vault is valid and contains the last part of the stack’s UUID', () => {
  const vault = Object.values(prod.Resources).find(({ Type }) => Type === 'AWS::Backup::BackupVault')
  const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] }
  expect(vault?.Properties.BackupVaultName).toEqual({
    'Fn::Join': ['', ['commerce-prod-', { 'Fn::Select': [4, { 'Fn::Split': ['-', uuid] }] }]],
  })
})
