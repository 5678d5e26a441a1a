import { describe, expect, test } from '@jest/globals'
import { behindDomain } from './stage-settings.ts'
import { type Resource, synthesise, type Template } from './synthesis.ts'

/** Each synthesis is a process. */
const stages: [stage: string, Template][] = [
  ['dev', (await synthesise('dev', { changes: behindDomain })).template],
  ['staging', (await synthesise('staging')).template],
  ['prod', (await synthesise('prod')).template],
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
    expect([...types].sort()).toEqual(stage === 'dev' ? always : [...always, ...data].sort())
  })
})

test('the name of the backup vault is valid and contains the last part of the stack’s UUID', () => {
  const [, template] = stages.at(-1) as [string, Template]
  const vault = Object.values(template.Resources).find(({ Type }) => Type === 'AWS::Backup::BackupVault')
  const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] }
  expect(vault?.Properties.BackupVaultName).toEqual({
    'Fn::Join': ['', ['commerce-prod-', { 'Fn::Select': [4, { 'Fn::Split': ['-', uuid] }] }]],
  })
})
