import { describe, expect, test } from '@jest/globals'
import { ProfileError } from '#shared/settings/read-profile.ts'
import { behindDomain, settingsOf, withDomain } from './stage-settings.ts'
import { idsOf, propertiesOf, type Template, templatesOf } from './synthesis.ts'

const domain = withDomain['api.domain']

describe('api.domain', () => {
  test.each([null, domain])('can be %j', async (value) => {
    expect((await settingsOf({ changes: { 'api.domain': value } }))['api.domain']).toEqual(value)
  })

  const wrongHost = 'a host name in lower case'
  const wrongArn = 'the ARN of a certificate of ACM'
  test.each([
    ['a host without its certificate', { certificateArn: undefined }, 'api.domain at certificateArn'],
    ['a certificate without its host', { host: undefined }, 'api.domain at host'],
    ['a host without a dot', { host: 'localhost' }, wrongHost],
    ['a host in upper case', { host: 'API.example.com' }, wrongHost],
    ['a URL', { host: 'https://api.example.com' }, wrongHost],
    ['a port', { host: 'api.example.com:443' }, wrongHost],
    ['a wildcard', { host: '*.example.com' }, wrongHost],
    ['a label that ends with a hyphen', { host: 'api-.example.com' }, wrongHost],
    ['a label of 64 characters', { host: `${'a'.repeat(64)}.example.com` }, wrongHost],
    ['an IP address', { host: '192.0.2.1' }, wrongHost],
    ['text that is not an ARN', { certificateArn: 'certificate/1234' }, wrongArn],
    ['the ARN of another service', { certificateArn: 'arn:aws:iam::1:server-certificate/a' }, wrongArn],
  ])('cannot be %s', async (_case, change, message) => {
    const changes = { 'api.domain': JSON.parse(JSON.stringify({ ...domain, ...change })) }
    const reading = settingsOf({ changes })
    await expect(reading).rejects.toThrow(ProfileError)
    await expect(reading).rejects.toThrow(message)
  })

  test('is rejected on the local stage, which has a fixed address', async () => {
    await expect(templatesOf('local', { changes: withDomain })).rejects.toThrow(
      'stage local has a fixed address: set api.domain to null',
    )
  })
})

const without = await templatesOf('prod')
const within = await templatesOf('prod', { changes: withDomain })
const closed = await templatesOf('prod', { changes: behindDomain })

/**
 * The resources of a template. A deployment of the gateway and a version have new ids when anything changes. The resources of
 * nested stacks are among them, and the hash of a nested template also depends on how many tokens CDK has made before.
 */
function lasting({ Resources }: Template) {
  const resources = Object.entries(Resources).filter(
    ([id]) => !/^(ApiDeployment|\w+CurrentVersion)\w+$/.test(id),
  )
  return Object.fromEntries(
    resources.map(([id, one]) => {
      if (one.Type !== 'AWS::CloudFormation::Stack') return [id, one]
      const { TemplateURL: _, ...Properties } = one.Properties ?? {}
      return [id, { ...one, Properties }]
    }),
  )
}

test('a domain is mapped to the stage of the API, and nothing else changes but what the probe calls', () => {
  const { Domain, ...rest } = lasting(within.template)
  const [[mapped = ''] = []] = Object.entries(rest).filter(([id]) => id.startsWith('DomainMap'))
  expect(propertiesOf(within.template, mapped)).toEqual({
    DomainName: '<Domain>',
    RestApiId: '<Api>',
    Stage: '<ApiDeploymentStageprod>',
  })
  const { [mapped]: _, ...others } = rest
  expect(Object.keys(others)).toEqual(Object.keys(lasting(without.template)))
  expect(within.watch).toEqual(without.watch)
  for (const id of idsOf(without.template, 'AWS::Lambda::Function'))
    if (id !== 'AddressProbe') expect(others[id]).toEqual(without.template.Resources[id])
})

test('closing the address of the gateway changes nothing else', () => {
  const { Api } = within.template.Resources
  const changed = { ...Api, Properties: { ...Api?.Properties, DisableExecuteApiEndpoint: true } }
  expect(lasting(closed.template)).toEqual({ ...lasting(within.template), Api: changed })
})
