import { CfnOutput } from 'aws-cdk-lib'
import { DomainName, EndpointType, type IRestApi, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import { type Stage, StageError } from './stage.ts'
import { tlsPolicy } from './tls-policy.ts'

type CustomDomain = NonNullable<Settings['api.domain']>

/** Returns the problem with settings that leave the API without an address. */
export function missingAddress(settings: Settings): string[] {
  return settings['api.gatewayAddress'] === 'closed' && settings['api.domain'] === null
    ? ['closed needs a domain in api.domain, as the API has no other address']
    : []
}

/**
 * Serves the API under a host name of the operator.
 * @throws StageError on a stage that has a fixed address
 */
export function serveUnder(
  scope: Construct,
  api: RestApi,
  { host, certificateArn }: CustomDomain,
  stage: Stage,
): void {
  if (stage.basePath !== undefined) {
    throw new StageError(`stage ${stage.name} has a fixed address: set api.domain to null`)
  }
  const domain = new DomainName(scope, 'Domain', {
    domainName: host,
    certificate: Certificate.fromCertificateArn(scope, 'Certificate', certificateArn),
    endpointType: EndpointType.REGIONAL,
    ...tlsPolicy,
    mapping: api as IRestApi,
  })
  new CfnOutput(scope, 'DomainTarget', { value: domain.domainNameAliasDomainName })
  new CfnOutput(scope, 'DomainHostedZoneId', { value: domain.domainNameAliasHostedZoneId })
}
