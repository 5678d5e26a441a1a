import { describe, expect, test } from '@jest/globals'
import { replacing } from '#bin/commands/preflight/replaced-data.ts'
import { behindDomain } from './stage-settings.ts'
import { type Resource, type Template, templatesOf } from './synthesis.ts'

const { template: prod } = await templatesOf('prod')
const stages: [stage: string, Template][] = [
  ['dev', (await templatesOf('dev', { changes: behindDomain })).template],
  ['prod', prod],
]
// The role with which the gateway logs is a setting of the account, which the next stack sets again.
const always = ['AWS::ApiGateway::Account', 'AWS::IAM::Role', 'AWS::Lambda::Version']
// Preflight refuses to replace these.
const data = Object.keys(replacing)
const isRetained = ({ DeletionPolicy = '' }: Resource) => DeletionPolicy.startsWith('Retain')
const retained = ({ Resources }: Template) => Object.entries(Resources).filter(([, one]) => isRetained(one))

/** Whether a name is the same in each stack of the stage: it refers neither to the stack's id nor to a resource. */
function isFixed(value: unknown, { Resources }: Template): boolean {
  const references = [...JSON.stringify(value).matchAll(/<([\w:]+)/g)]
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

test.each(Object.entries(prod.Resources).filter(([, { Type }]) => data.includes(Type)))(
  '%s survives the stack prod and its replacement',
  (_, { DeletionPolicy, UpdateReplacePolicy }) => {
    expect(DeletionPolicy).toMatch(/^Retain/)
    expect(UpdateReplacePolicy).toBe('Retain')
  },
)

test('what stays can be read with the key that stays: by roles of the account, not by the functions of the next stack', () => {
  const { KeyPolicy } = prod.Resources.Key?.Properties ?? {}
  expect(KeyPolicy.Statement).toContainEqual({
    Effect: 'Allow',
    Action: 'kms:*',
    Principal: { AWS: 'arn:<AWS::Partition>:iam::<AWS::AccountId>:root' },
    Resource: '*',
  })
  const keys = Object.values(prod.Resources).flatMap(({ Type, Properties }) =>
    Type === 'AWS::IAM::Policy'
      ? Properties.PolicyDocument.Statement.filter(({ Action }: { Action: string | string[] }) =>
          [Action].flat().some((action) => action.startsWith('kms:')),
        ).map(({ Resource: on }: { Resource: string }) => on)
      : [],
  )
  expect(new Set(keys)).toEqual(new Set(['<Key.Arn>']))
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
  const uuid = { 'Fn::Select': [2, { 'Fn::Split': ['/', '<AWS::StackId>'] }] }
  expect(prod.Resources.BackupVault?.Properties.BackupVaultName).toEqual({
    'Fn::Join': ['', ['commerce-prod-', { 'Fn::Select': [4, { 'Fn::Split': ['-', uuid] }] }]],
  })
})
