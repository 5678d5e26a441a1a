import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import { behindDomain, settingsOf, withDomain } from './stage-settings.ts'
import { type Resource, referenceOf, resourcesOf, synthesise, type Template } from './synthesis.ts'

const domain = withDomain['api.domain']
const { certificateArn } = domain

describe('api.domain', () => {
  test.each([null, domain])('can be %j', async (value) => {
    expect((await settingsOf({ changes: { 'api.domain': value } }))['api.domain']).toEqual(value)
  })

  test.each([
    ['a host without its certificate', { certificateArn: undefined }, /api\.domain at certificateArn/],
    ['a certificate without its host', { host: undefined }, /api\.domain at host/],
    ['a host without a dot', { host: 'localhost' }, /a host name in lower case/],
    ['a host in upper case', { host: 'API.example.com' }, /a host name in lower case/],
    ['a URL', { host: 'https://api.example.com' }, /a host name in lower case/],
    ['a port', { host: 'api.example.com:443' }, /a host name in lower case/],
    ['a wildcard', { host: '*.example.com' }, /a host name in lower case/],
    ['a label that ends with a hyphen', { host: 'api-.example.com' }, /a host name in lower case/],
    ['a label of 64 characters', { host: `${'a'.repeat(64)}.example.com` }, /a host name in lower case/],
    ['an IP address', { host: '192.0.2.1' }, /a host name in lower case/],
    ['text that is not an ARN', { certificateArn: 'certificate/1234' }, /the ARN of a certificate of ACM/],
    [
      'the ARN of another service',
      { certificateArn: 'arn:aws:iam::1:server-certificate/a' },
      /the ARN of a certificate of ACM/,
    ],
  ])('cannot be %s', async (_case, change, message) => {
    const changes = { 'api.domain': JSON.parse(JSON.stringify({ ...domain, ...change })) }
    await expect(settingsOf({ changes })).rejects.toThrow(ProfileError)
    await expect(settingsOf({ changes })).rejects.toThrow(message)
  })

  test('is rejected on the local stage, which has a fixed address', async () => {
    await expect(synthesise('local', { changes: withDomain })).rejects.toThrow(
      'stage local has a fixed address: set api.domain to null',
    )
  })
})

describe('api.gatewayAddress', () => {
  test('cannot be closed without a domain', async () => {
    const settings = await settingsOf({ changes: { 'api.gatewayAddress': 'closed' } })
    expect(() => checkOperations(settings, routes, 'p.json')).toThrow(
      'api.gatewayAddress: closed needs a domain in api.domain',
    )
  })

  test.each(['open', 'closed'])('can be %s with a domain', async (value) => {
    const settings = await settingsOf({ changes: { ...withDomain, 'api.gatewayAddress': value } })
    expect(() => checkOperations(settings, routes, 'p.json')).not.toThrow()
  })
})

const without = await synthesise('prod')
const within = await synthesise('prod', { changes: withDomain })
const closed = await synthesise('prod', { changes: behindDomain })

const apiOf = (template: Template) =>
  resourcesOf(template, 'AWS::ApiGateway::RestApi')[0] as [string, Resource]
const probeOf = (template: Template) =>
  resourcesOf(template, 'AWS::Lambda::Function').find(([id]) => /^AddressProbe/.test(id)) as [
    string,
    Resource,
  ]
const idOf = (id: string) => id.replace(/(ApiDeployment)[0-9A-Fa-f]+$/, '$1')
const idsOf = ({ Resources }: Template) => Object.keys(Resources).map(idOf)

describe('with a domain', () => {
  const { template } = within
  const tls = { SecurityPolicy: 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09', EndpointAccessMode: 'STRICT' }
  const [domainId, resource] = resourcesOf(template, 'AWS::ApiGateway::DomainName')[0] as [string, Resource]

  test('the API accepts TLS 1.2 or newer at both addresses', () => {
    expect(apiOf(template)[1].Properties).toMatchObject(tls)
    expect(resource.Properties).toMatchObject(tls)
  })

  test('the domain has the host and the certificate of the profile', () => {
    expect(resource.Properties).toMatchObject({
      DomainName: 'api.example.com',
      RegionalCertificateArn: certificateArn,
      EndpointConfiguration: { Types: ['REGIONAL'] },
    })
  })

  test('the domain is mapped to the stage of the API', () => {
    const [[, mapping]] = resourcesOf(template, 'AWS::ApiGateway::BasePathMapping') as [[string, Resource]]
    const [[stageId]] = resourcesOf(template, 'AWS::ApiGateway::Stage') as [[string, Resource]]
    const { DomainName: mapped, RestApiId: to, Stage: stage, BasePath: path } = mapping.Properties
    expect([mapped, to, stage].map(referenceOf)).toEqual([domainId, apiOf(template)[0], stageId])
    expect(path).toBeUndefined()
  })

  test('the outputs name the domain and the target of its DNS record', () => {
    expect(template.Outputs).toMatchObject({
      BaseUrl: { Value: 'https://api.example.com/' },
      DomainTarget: { Value: { 'Fn::GetAtt': [domainId, 'RegionalDomainName'] } },
      DomainHostedZoneId: { Value: { 'Fn::GetAtt': [domainId, 'RegionalHostedZoneId'] } },
    })
    expect(JSON.stringify(template.Outputs)).not.toContain('.execute-api.')
  })

  test('the address of the gateway stays open', () => {
    expect(apiOf(template)).toEqual(apiOf(without.template))
  })

  test('the probe calls the domain', () => {
    const [, { Properties }] = probeOf(template)
    expect(Properties.Environment.Variables.PUBLIC_ADDRESS).toBe('https://api.example.com/')
  })

  test('nothing else changes', () => {
    const addedTo = (one: Template, other: Template) =>
      idsOf(one)
        .filter((id) => !idsOf(other).includes(id) && !/^AddressProbeCurrentVersion/.test(id))
        .map((id) => id.replace(/[0-9A-F]{8}$/, ''))
    expect(addedTo(template, without.template).sort()).toEqual([
      'Domain',
      expect.stringMatching(/^DomainMap/),
    ])
    expect(addedTo(without.template, template)).toEqual([])
    expect(within.watch).toEqual(without.watch)
    const [probeId] = probeOf(template)
    for (const [id, one] of resourcesOf(without.template, 'AWS::Lambda::Function'))
      if (id !== probeId) expect(template.Resources[id]).toEqual(one)
  })
})

test('closing the address of the gateway changes nothing else', () => {
  const [id, api] = apiOf(within.template)
  expect(apiOf(closed.template)).toEqual([
    id,
    { ...api, Properties: { ...api.Properties, DisableExecuteApiEndpoint: true } },
  ])
  expect(idsOf(closed.template)).toEqual(idsOf(within.template))
})

test('without a domain the API has the address of the gateway', () => {
  const { template } = without
  expect(resourcesOf(template, 'AWS::ApiGateway::DomainName')).toHaveLength(0)
  expect(apiOf(template)[1].Properties).not.toHaveProperty('DisableExecuteApiEndpoint')
  expect(JSON.stringify(template.Outputs?.BaseUrl?.Value)).toContain('.execute-api.')
})
