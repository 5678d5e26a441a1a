import { describe, expect, test } from '@jest/globals'
import { customDomain } from '#lib/custom-domain.ts'
import { StageError, stageNamed } from '#lib/stage.ts'
import { type Resource, referenceOf, resourcesOf, synthesise } from './synthesis.ts'

const certificateArn =
  'arn:aws:acm:eu-central-1:111122223333:certificate/12345678-1234-1234-1234-123456789012'
const prod = stageNamed('prod')

describe('what a deployment is told', () => {
  test('is a host name and a certificate, or neither', () => {
    const given = customDomain('api.example.com', certificateArn, prod)
    expect(given).toEqual({ host: 'api.example.com', certificateArn })
    expect(customDomain(undefined, undefined, prod)).toBeUndefined()
  })

  test.each([
    ['a domain alone', 'api.example.com', undefined, /name both or neither$/],
    ['a certificate alone', undefined, certificateArn, /name both or neither$/],
    ['a name without a dot', 'localhost', certificateArn, /^'localhost' is no host name/],
    ['a name in upper case', 'API.example.com', certificateArn, /is no host name/],
    ['an address', 'https://api.example.com', certificateArn, /is no host name/],
    ['a port', 'api.example.com:443', certificateArn, /is no host name/],
    ['a wildcard', '*.example.com', certificateArn, /is no host name/],
    ['a label that ends with a hyphen', 'api-.example.com', certificateArn, /is no host name/],
    ['a label of 64 characters', `${'a'.repeat(64)}.example.com`, certificateArn, /is no host name/],
    ['an IP address', '192.0.2.1', certificateArn, /is no host name/],
    ['no ARN', 'api.example.com', 'certificate/1234', /^'certificate\/1234' is no certificate of ACM/],
    [
      'the ARN of something else',
      'api.example.com',
      'arn:aws:iam::1:server-certificate/a',
      /is no certificate/,
    ],
  ])('and not %s', (_case, host, certificate, message) => {
    expect(() => customDomain(host, certificate, prod)).toThrow(StageError)
    expect(() => customDomain(host, certificate, prod)).toThrow(message)
  })

  test('and nothing on the local stage, which has an address of its own', () => {
    expect(() => customDomain('api.example.com', certificateArn, stageNamed('local'))).toThrow(StageError)
  })
})

const domain = { host: 'api.example.com', certificateArn }
const without = await synthesise('prod')
const within = await synthesise('prod', { domain })

describe('with a domain', () => {
  const tls = { SecurityPolicy: 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09', EndpointAccessMode: 'STRICT' }

  test('the API is reached under it alone, by TLS 1.2 or newer', () => {
    const { template } = within
    const [[apiId, api]] = resourcesOf(template, 'AWS::ApiGateway::RestApi') as [[string, Resource]]
    expect(api.Properties).toMatchObject({ DisableExecuteApiEndpoint: true, ...tls })
    const [[domainId, its]] = resourcesOf(template, 'AWS::ApiGateway::DomainName') as [[string, Resource]]
    expect(its.Properties).toMatchObject({
      DomainName: 'api.example.com',
      RegionalCertificateArn: certificateArn,
      EndpointConfiguration: { Types: ['REGIONAL'] },
      ...tls,
    })
    const [[, mapping]] = resourcesOf(template, 'AWS::ApiGateway::BasePathMapping') as [[string, Resource]]
    const [[stageId]] = resourcesOf(template, 'AWS::ApiGateway::Stage') as [[string, Resource]]
    const { DomainName: mapped, RestApiId: to, Stage: stage, BasePath: path } = mapping.Properties
    expect([mapped, to, stage].map(referenceOf)).toEqual([domainId, apiId, stageId])
    expect(path).toBeUndefined()
    expect(template.Outputs?.BaseUrl).toMatchObject({ Value: 'https://api.example.com/' })
    expect(JSON.stringify(template.Outputs)).not.toContain('.execute-api.')
    expect(template.Outputs?.DomainTarget).toMatchObject({
      Value: { 'Fn::GetAtt': [domainId, 'RegionalDomainName'] },
    })
    expect(template.Outputs?.DomainHostedZoneId).toMatchObject({
      Value: { 'Fn::GetAtt': [domainId, 'RegionalHostedZoneId'] },
    })
  })

  test('nothing else changes', () => {
    const before = without.template
    const after = within.template
    const idOf = (id: string) => id.replace(/(ApiDeployment)[0-9A-Fa-f]+$/, '$1')
    const idsOf = (its: object) => Object.keys((its as { Resources: object }).Resources).map(idOf)
    const added = idsOf(after).filter((id) => !idsOf(before).includes(id))
    expect(added.map((id) => id.replace(/[0-9A-F]{8}$/, '')).sort()).toEqual([
      'Domain',
      expect.stringMatching(/^DomainMap/),
    ])
    expect(idsOf(before).filter((id) => !idsOf(after).includes(id))).toEqual([])
    expect(within.watch).toEqual(without.watch)
    for (const [id, resource] of resourcesOf(without.template, 'AWS::Lambda::Function')) {
      expect(after.Resources[id]).toEqual(resource)
    }
  })
})

test('without one the API keeps the address of the gateway', () => {
  const { template } = without
  expect(resourcesOf(template, 'AWS::ApiGateway::DomainName')).toHaveLength(0)
  const [[, api]] = resourcesOf(template, 'AWS::ApiGateway::RestApi') as [[string, Resource]]
  expect(Object.keys(api.Properties)).not.toContain('DisableExecuteApiEndpoint')
  expect(JSON.stringify(template.Outputs?.BaseUrl?.Value)).toContain('.execute-api.')
})
