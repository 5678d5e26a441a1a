import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { planRollback, rollBack } from '#bin/commands/deployment/rollback.ts'
import { synthesizedStack } from '#bin/commands/preflight/assembly.ts'
import { preflight } from '#bin/commands/preflight/preflight.ts'
import { replacing } from '#bin/commands/preflight/replaced-data.ts'
import { naming } from '#test/support/naming.ts'
import { type FakeFunctions, fakeFunctions, recordOf } from './fake-functions.ts'

const name = 'commerce-prod'
const folder = mkdtempSync(join(tmpdir(), 'commerce-preflight-'))
const keys = [
  { AttributeName: 'pk', KeyType: 'HASH' },
  { AttributeName: 'sk', KeyType: 'RANGE' },
]
const attributes = [
  { AttributeName: 'pk', AttributeType: 'S' },
  { AttributeName: 'sk', AttributeType: 'S' },
]

interface Synthesis {
  environment?: string
  release?: string
  /** The adopted table. */
  restored?: string
  /** Properties of the table of the stack. */
  table?: object
  /** Other resources of the stack, by their logical ids. */
  resources?: Record<string, { Type: string; Properties?: object }>
  /** The domain from which it sends mails. */
  mail?: string
  /** Whether the user pool sends from this domain, too. */
  verified?: boolean
  tableId?: string
  /** The record of storage.shards in its functions. */
  shards?: string
  /** The actions of a function, and the keys of the items on which it may use them. */
  may?: { actions: string[]; keys: string[] }
  /** Whether aliases move without CodeDeploy. */
  atOnce?: boolean
  /** The host name of the API. */
  domain?: string
  /** The executions that a function reserves. */
  reserved?: number
  /** The functions that it stops, as with -c freeze. */
  stopped?: string[]
}

/** Returns a template with a table, or with one that it adopts. */
function templateOf(synthesis: Synthesis): object {
  const { release = 'v2', restored, table, tableId = 'Table', mail, verified, domain, resources } = synthesis
  const Properties = { KeySchema: keys, AttributeDefinitions: attributes, ...table }
  const identity = { Type: 'AWS::SES::EmailIdentity', Properties: { EmailIdentity: mail } }
  return {
    Resources: {
      ...resources,
      ...(verified && {
        Users: {
          Type: 'AWS::Cognito::UserPool',
          Properties: { EmailConfiguration: { EmailSendingAccount: 'DEVELOPER' } },
        },
      }),
      ...(restored === undefined && { [tableId]: { Type: 'AWS::DynamoDB::Table', Properties } }),
      ...(domain !== undefined && {
        Domain: { Type: 'AWS::ApiGateway::DomainName', Properties: { DomainName: domain } },
      }),
      ...(mail !== undefined && { MailIdentity: identity, MailSet: { Type: 'AWS::SES::ConfigurationSet' } }),
    },
    Outputs: { TableName: { Value: restored ?? { Ref: tableId } }, Release: { Value: release } },
  }
}

/** Returns a function with its role, as in a nested stack. */
function functionWith({ actions, keys }: { actions: string[]; keys: string[] }) {
  const Condition = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } }
  const Statement = [
    { Effect: 'Allow', Action: actions, Resource: { Ref: 'Table' }, Condition },
    { Effect: 'Allow', Action: 'logs:PutLogEvents', Resource: { 'Fn::GetAtt': ['Log', 'Arn'] } },
  ]
  return {
    OrdersRead12345678: {
      Type: 'AWS::Lambda::Function',
      Properties: { Role: { 'Fn::GetAtt': ['OrdersReadRole', 'Arn'] } },
    },
    OrdersReadPolicy: {
      Type: 'AWS::IAM::Policy',
      Properties: { Roles: [{ Ref: 'OrdersReadRole' }], PolicyDocument: { Statement } },
    },
  }
}

/** Writes an assembly with a nested stack, as `cdk synth` does. The folder also has another stage. */
function synthesize(options: Synthesis) {
  const {
    environment = 'aws://111122223333/us-east-1',
    shards,
    atOnce = false,
    stopped = [],
    reserved,
    may,
  } = options
  const write = (file: string, content: object) => writeFileSync(join(folder, file), JSON.stringify(content))
  const isStopped = { Type: 'AWS::Lambda::Function', Properties: { ReservedConcurrentExecutions: 0 } }
  const stage = (stack: string, isAtOnce: boolean, record: string | undefined, frozen: string[]) => {
    const templateFile = `${stack}.template.json`
    const nested = `${stack}Orders.nested.template.json`
    const manifest = `${stack}.assets.json`
    const UpdatePolicy = { CodeDeployLambdaAliasUpdate: { ApplicationName: stack } }
    write(templateFile, templateOf(options))
    write(nested, {
      Resources: {
        Live: { Type: 'AWS::Lambda::Alias', ...(!isAtOnce && { UpdatePolicy }) },
        ...(reserved !== undefined && {
          Function: { Type: 'AWS::Lambda::Function', Properties: { ReservedConcurrentExecutions: reserved } },
        }),
        ...(may && functionWith(may)),
        ...Object.fromEntries(frozen.map((id) => [id, isStopped])),
        ...(record && { Shards: { Properties: { Environment: { Variables: { STORAGE_SHARDS: record } } } } }),
      },
    })
    const assetOf = (path: string) => ({ source: { path, packaging: 'file' }, destinations: {} })
    const files = { code: assetOf('asset.1234'), nested: assetOf(nested), own: assetOf(templateFile) }
    write(manifest, { version: '36.0.0', files })
    const type = 'aws:cloudformation:stack'
    const dependencies = [`${stack}.assets`]
    return {
      [stack]: { type, environment, properties: { templateFile }, dependencies },
      [`${stack}.assets`]: { type: 'cdk:asset-manifest', properties: { file: manifest } },
    }
  }
  const other = stage('commerce-a-staging', !atOnce, recordOf([64, 64]), ['orders', 'relay'])
  write('manifest.json', {
    version: '36.0.0',
    artifacts: { ...other, ...stage(name, atOnce, shards, stopped) },
  })
  return synthesizedStack(folder, name)
}

let aws: FakeFunctions
beforeEach(() => {
  aws = fakeFunctions(['orders', 'relay'])
  aws.template = templateOf({})
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Deploys a release with the table `orders-table`. */
function deploy(release: string, shards?: string) {
  aws.deploy(release, { shards })
  aws.outputs = { Release: release, TableName: 'orders-table' }
}

const rollback = async () => rollBack(await planRollback(name, undefined, aws.clients), aws.clients)

const check = (options: Synthesis = {}) => preflight(synthesize(options), aws.clients)

describe('a deployment may start', () => {
  const index = {
    GlobalSecondaryIndexes: [{ IndexName: 'by_day' }],
    AttributeDefinitions: [...attributes, { AttributeName: 'day', AttributeType: 'N' }],
  }

  test.each<[string, Synthesis, string?]>([
    ['a new release of the same table', {}],
    ['another index, which needs another attribute', { table: index }],
    ['a restored table if CodeDeploy is bypassed, as by a freeze', { restored: 'restored-1', atOnce: true }],
    ['the restored table that was adopted', { restored: 'restored-1' }, 'restored-1'],
  ])('with %s', async (_, options, table = 'orders-table') => {
    deploy('v1')
    aws.outputs.TableName = table
    expect(await check(options)).toEqual([])
  })

  test('with the mail identity that the stack has made, and with one that is new', async () => {
    deploy('v1')
    expect(await check({ mail: 'acme.cloud' })).toEqual([])
    aws.template = templateOf({ mail: 'acme.cloud' })
    aws.identities = ['acme.cloud']
    expect(await check({ mail: 'acme.cloud' })).toEqual([])
  })

  test.each([
    ['once SES has verified it', false, true],
    ['that is deployed, whatever SES says by now', true, false],
  ])('with a user pool that sends from the mail identity, %s', async (_, verified, isVerified) => {
    const Users = { Type: 'AWS::Cognito::UserPool' }
    deploy('v1')
    aws.template = templateOf({ mail: 'acme.cloud', verified, resources: { Users } })
    aws.identities = ['acme.cloud']
    aws.isVerified = isVerified
    expect(await check({ mail: 'acme.cloud', verified: true })).toEqual([])
  })

  test('with a domain that the stack has already, or that no other stage has', async () => {
    deploy('v1')
    aws.template = templateOf({ domain: 'api.acme.cloud' })
    aws.others = { 'commerce-staging': templateOf({ domain: 'staging.acme.cloud' }) }
    expect(await check({ domain: 'api.acme.cloud' })).toEqual([])
    expect(await check({ domain: 'new.acme.cloud' })).toEqual([])
  })

  test('that reserves as many executions as the account has left, with its own', async () => {
    aws.reservedByOthers = 300
    deploy('v1')
    expect(await check({ reserved: 600 })).toEqual([])
    Object.assign(aws.functions.get('relay') ?? {}, { reserved: 600 })
    expect(await check({ reserved: 600 })).toEqual([])
  })

  test('if the region has one type of each service: old types are not in the registry', async () => {
    aws.status = undefined
    aws.missingTypes = ['AWS::SES::EmailIdentity']
    expect(await check({ mail: 'acme.cloud' })).toEqual([])
  })

  test.each([undefined, 'REVIEW_IN_PROGRESS', 'ROLLBACK_COMPLETE'])(
    'if the stack is not deployed: its status is %s',
    async (status) => {
      aws.status = status
      expect(await check()).toEqual([])
    },
  )

  test('only if the stack can be queried', async () => {
    const { cloudFormation } = aws.clients
    cloudFormation.send = async () => {
      throw Object.assign(new Error('no permission'), { name: 'AccessDenied' })
    }
    await expect(check()).rejects.toThrow('no permission')
  })

  test('with -c freeze if the stopped functions have no provisioned concurrency, and others have', async () => {
    deploy('v1')
    Object.assign(aws.functions.get('relay') ?? {}, { provisioned: 2 })
    expect(await check({ atOnce: true, stopped: ['orders'] })).toEqual([])
  })

  test.each<[string, string[], Synthesis]>([
    ['if CodeDeploy is bypassed', [], { atOnce: true }],
    ['if a deployment followed it', ['v1.1'], {}],
  ])('after a rollback %s', async (_, releases, options) => {
    deploy('v0')
    deploy('v1')
    await rollback()
    for (const release of releases) deploy(release)
    expect(await check(options)).toEqual([])
  })
})

describe('shards of storage.shards', () => {
  test.each<[string, string | undefined, string]>([
    ['reads raised', undefined, recordOf([1, 4])],
    ['writes raised to what is read', recordOf([1, 4]), recordOf([4, 4])],
    ['writes lowered', recordOf([4, 4]), recordOf([1, 4])],
    ['reads lowered to what was written', recordOf([2, 4]), recordOf([1, 2])],
    [
      'both raised for a tenant that reads them already',
      recordOf([1, 1], [1, 16]),
      recordOf([1, 1], [16, 16]),
    ],
  ])('may be deployed with %s', async (_, deployed, shards) => {
    deploy('v1', deployed)
    expect(await check({ shards })).toEqual([])
  })

  test('are refused with more for writes than the deployed release reads', async () => {
    deploy('v1', recordOf([1, 2]))
    expect(await check({ shards: recordOf([4, 4], [1, 2]) })).toEqual([
      expect.stringMatching(naming('2 … 4 … storage.shards … reads … writes')),
    ])
  })

  test('are refused with more for writes than a deployed release without a record, which reads one', async () => {
    deploy('v1')
    expect(await check({ shards: recordOf([1, 1], [2, 2]) })).toEqual([
      expect.stringMatching(naming('1 … 2 … large')),
    ])
  })

  test('are refused with more for writes than the release reads that serves after a rollback', async () => {
    deploy('v0', recordOf([1, 1]))
    deploy('v1', recordOf([1, 4]))
    await rollback()
    expect(await check({ shards: recordOf([4, 4]), atOnce: true })).toEqual([
      expect.stringMatching(naming('1 … 4 … large … 1 … 4')),
    ])
  })

  test('are refused with fewer for reads than any kept release has written', async () => {
    deploy('v0', recordOf([1, 4]))
    deploy('v1', recordOf([4, 4]))
    deploy('v1.1', recordOf([1, 4]))
    expect(await check({ shards: recordOf([1, 2]) })).toEqual([
      expect.stringMatching(naming('storage.shards … 2 … 4 … large … 2 … 4')),
    ])
  })
})

describe('a deployment is refused', () => {
  const credentials = '111122223333 … us-east-1 … AWS_PROFILE … AWS_REGION'

  test.each<[string, Synthesis, string]>([
    ['the release that is deployed', { release: 'v1' }, 'v1 … -c release=ID'],
    [
      'a gradual rollout of a restored table',
      { restored: 'restored-1' },
      'orders-table … restored-1 … -c freeze=all … -c rollout=bypass',
    ],
    [
      'credentials of another account',
      { environment: 'aws://444455556666/us-east-1' },
      `444455556666 … us-east-1 … ${credentials}`,
    ],
    [
      'credentials of another region',
      { environment: 'aws://111122223333/eu-west-1' },
      `111122223333 … eu-west-1 … ${credentials}`,
    ],
  ])('with %s', async (_, options, reason) => {
    deploy('v1')
    expect(await check(options)).toEqual([expect.stringMatching(naming(reason))])
  })

  test('with a release that is deployed and of which no version is kept', async () => {
    aws.outputs = { Release: 'v2', TableName: 'orders-table' }
    expect(await check()).toEqual([expect.stringMatching(naming('v2 … -c release=ID'))])
  })

  test('with an older release', async () => {
    deploy('v1')
    deploy('v2')
    deploy('v3')
    expect(await check({ release: 'v1' })).toEqual([expect.stringMatching(naming('v1 … -c release=ID'))])
  })

  describe.each([
    ['a gradual rollout', {}],
    ['a rollout at once', { atOnce: true }],
  ])('whatever the rollout, if data would stay behind: by %s', (_, rollout) => {
    test.each<[string, Synthesis, string]>([
      ['a table of another logical id', { tableId: 'OtherTable' }, 'AWS::DynamoDB::Table Table'],
      ['another name of the table', { table: { TableName: 'orders' } }, 'Table … TableName'],
      ['another key of the table', { table: { KeySchema: keys.slice(0, 1) } }, 'Table … KeySchema'],
      [
        'another type of a key',
        { table: { AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'N' }] } },
        'Table … AttributeDefinitions',
      ],
      [
        'a local index of the table',
        { table: { LocalSecondaryIndexes: [{ IndexName: 'by_day' }] } },
        'Table … LocalSecondaryIndexes',
      ],
      [
        'an import into the table',
        { table: { ImportSourceSpecification: { InputFormat: 'CSV' } } },
        'Table … ImportSourceSpecification',
      ],
    ])('with %s', async (_, options, reason) => {
      deploy('v1')
      expect(await check({ ...options, ...rollout })).toEqual([expect.stringMatching(naming(reason))])
    })

    test.each(Object.keys(replacing))('with another logical id of an %s', async (Type) => {
      deploy('v1')
      aws.template = templateOf({ resources: { Data: { Type }, Kept: { Type } } })
      expect(await check({ resources: { Other: { Type }, Kept: { Type } }, ...rollout })).toEqual([
        expect.stringMatching(naming(`${Type} Data`)),
      ])
    })

    test('with another name of a bucket and of a secret, both in one reason', async () => {
      const named = (name: string) => ({
        Files: { Type: 'AWS::S3::Bucket', Properties: { BucketName: name, Tags: [name] } },
        Key: { Type: 'AWS::SecretsManager::Secret', Properties: { Name: name, Description: name } },
        Pool: { Type: 'AWS::Cognito::UserPool', Properties: { UserPoolName: name } },
      })
      deploy('v1')
      aws.template = templateOf({ resources: named('first') })
      expect(await check({ resources: named('second'), ...rollout })).toEqual([
        expect.stringMatching(naming('Files … BucketName … Key … Name')),
      ])
    })

    test('with a return from a restored table to a new one of the stack', async () => {
      deploy('v1')
      aws.template = templateOf({ restored: 'restored-1' })
      aws.outputs.TableName = 'restored-1'
      expect(await check(rollout)).toEqual([
        expect.stringMatching(naming('restored-1 … storage.restoredTable')),
      ])
    })

    test('with a restored table, if another resource is replaced', async () => {
      const Type = 'AWS::KMS::Key'
      deploy('v1')
      aws.template = templateOf({ resources: { Data: { Type } } })
      const reasons = await check({ restored: 'restored-1', resources: { Other: { Type } }, ...rollout })
      expect(reasons).toContainEqual(expect.stringMatching(naming(`${Type} Data`)))
    })
  })

  describe('with a gradual rollout that takes a permission from a function:', () => {
    const both = ['dynamodb:GetItem', 'dynamodb:PutItem']
    const before = { actions: both, keys: ['order#*', 'session#*'] }
    beforeEach(() => {
      deploy('v1')
      aws.nested = { Resources: functionWith(before) }
    })

    test.each([
      [
        'an action',
        { ...before, actions: ['dynamodb:GetItem'] },
        'PutItem on order#* … PutItem on session#*',
      ],
      ['a kind of items', { ...before, keys: ['order#*'] }, 'GetItem on session#* … PutItem on session#*'],
    ])('%s', async (_, may, lost) => {
      expect(await check({ may })).toEqual([
        expect.stringMatching(naming(`OrdersRead … ${lost} … -c rollout=bypass`)),
      ])
    })

    test.each<[string, Synthesis]>([
      ['it gains one instead', { may: { ...before, keys: [...before.keys, 'refund#*'] } }],
      ['the function is removed', {}],
      ['CodeDeploy is bypassed', { may: { ...before, keys: [] }, atOnce: true }],
    ])('not if %s', async (_, options) => {
      expect(await check(options)).toEqual([])
    })
  })

  test('with a gradual rollout after a rollback', async () => {
    deploy('v0')
    deploy('v1')
    await rollback()
    expect(await check()).toEqual([expect.stringMatching(naming('v1 … v0 … -c rollout=bypass'))])
  })

  test('with a restored table that does not exist, even the first one', async () => {
    aws.status = undefined
    expect(await check({ restored: 'restored-2' })).toEqual([
      expect.stringMatching(naming('restored-2 … storage.restoredTable … npx commerce table restore')),
    ])
  })

  test.each([undefined, 'UPDATE_COMPLETE'])(
    'in a region without a service that it needs: its status is %s',
    async (status) => {
      deploy('v1')
      aws.status = status
      aws.missingTypes = ['AWS::SES::EmailIdentity', 'AWS::SES::ConfigurationSet']
      expect(await check({ mail: 'acme.cloud' })).toEqual([
        expect.stringMatching(naming('us-east-1 … SES … aws.environment … mail.sender')),
      ])
    },
  )

  test.each([undefined, 'UPDATE_COMPLETE'])(
    'with a mail identity that the account has already: its status is %s',
    async (status) => {
      deploy('v1')
      aws.status = status
      aws.identities = ['acme.cloud']
      expect(await check({ mail: 'acme.cloud' })).toEqual([
        expect.stringMatching(naming('acme.cloud … mail.sender … aws sesv2 delete-email-identity')),
      ])
    },
  )

  test.each([undefined, 'UPDATE_COMPLETE'])(
    'with a user pool that sends from a mail identity before SES has verified it: its status is %s',
    async (status) => {
      const mail = 'acme.cloud'
      deploy('v1')
      aws.status = status
      aws.template = templateOf({ mail, resources: { Users: { Type: 'AWS::Cognito::UserPool' } } })
      aws.identities = status ? [mail] : []
      expect(await check({ mail, verified: true })).toEqual([
        expect.stringMatching(naming('acme.cloud … Cognito … verified … mail.sender')),
      ])
    },
  )

  test.each([undefined, 'UPDATE_COMPLETE'])(
    'with the domain or the mail identity of another stage: its status is %s',
    async (status) => {
      deploy('v1')
      aws.status = status
      const names = { domain: 'api.acme.cloud', mail: 'acme.cloud' }
      aws.others = { 'commerce-staging': templateOf(names) }
      aws.identities = ['acme.cloud']
      expect(await check(names)).toEqual([
        expect.stringMatching(naming('commerce-staging … api.acme.cloud … api.domain')),
        expect.stringMatching(naming('commerce-staging … acme.cloud … mail.sender')),
      ])
    },
  )

  test.each([
    ['beside another stage', 300, 601, '601 … 1000 … another stage … 300 … 100 … 1001'],
    ['in a new account', 0, 901, '901 … 1000 … 0 … 100 … 1001'],
  ])('that reserves more executions than the account has left, %s', async (_, others, reserved, reason) => {
    deploy('v1')
    aws.reservedByOthers = others
    expect(await check({ reserved })).toEqual([expect.stringMatching(naming(reason))])
  })

  test('if it stops a function with provisioned concurrency, as -c freeze does before a freeze', async () => {
    deploy('v1')
    Object.assign(aws.functions.get('orders') ?? {}, { provisioned: 2 })
    expect(await check({ atOnce: true, stopped: ['orders'] })).toEqual([
      expect.stringMatching(naming('npx commerce freeze … --writes … --all')),
    ])
  })

  test('for all reasons at once', async () => {
    deploy('v0')
    deploy('v1')
    await rollback()
    const reasons = await check({ release: 'v1', restored: 'restored-2' })
    expect(reasons).toEqual([
      expect.stringMatching(naming('v1 … -c release=ID')),
      expect.stringMatching(naming('restored-2 … -c freeze=all')),
      expect.stringMatching(naming('v1 … v0 … -c rollout=bypass')),
      expect.stringMatching(naming('restored-2 … storage.restoredTable')),
    ])
  })

  test('during another deployment', async () => {
    deploy('v1')
    aws.status = 'UPDATE_IN_PROGRESS'
    await expect(check()).rejects.toThrow('UPDATE_IN_PROGRESS')
  })
})

describe('the output of cdk synth', () => {
  test('has to be in the folder', () => {
    expect(() => synthesizedStack('/none', name)).toThrow('/none')
  })

  test('has to have the stack', () => {
    synthesize({})
    expect(() => synthesizedStack(folder, 'commerce-dev')).toThrow(
      naming('commerce-dev … commerce-a-staging … commerce-prod'),
    )
  })
})
