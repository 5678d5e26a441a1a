import { CfnOutput } from 'aws-cdk-lib'
import { DomainName, EndpointType, type IRestApi, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import type { Construct } from 'constructs'
import { type Stage, StageError } from './stage.ts'
import { tlsPolicy } from './tls-policy.ts'

/** The name under which a deployment is reached, and the certificate of it. */
export interface CustomDomain {
  /** In lower case, such as `api.example.com`. */
  host: string
  /** In the region of the stack. */
  certificateArn: string
}

const hostName = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/
const certificate = /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[A-Za-z0-9-]+$/

/**
 * What a deployment was told with `-c domain=HOST -c certificate=ARN`; undefined where it was told neither.
 * @throws StageError with one sentence that says what to put right
 */
export function customDomain(host: unknown, certificateArn: unknown, stage: Stage): CustomDomain | undefined {
  if (host === undefined && certificateArn === undefined) return undefined
  if (host === undefined || certificateArn === undefined) {
    throw new StageError('a domain needs its certificate, and a certificate its domain: name both or neither')
  }
  if (stage.basePath !== undefined) {
    throw new StageError(`stage ${stage.name} has an address of its own: name no domain for it`)
  }
  if (typeof host !== 'string' || !hostName.test(host)) {
    throw new StageError(`'${host}' is no host name: name one in lower case with -c domain=api.example.com`)
  }
  if (typeof certificateArn !== 'string' || !certificate.test(certificateArn)) {
    throw new StageError(`'${certificateArn}' is no certificate of ACM: name its ARN with -c certificate=ARN`)
  }
  return { host, certificateArn }
}

/** Serves the API under its own name, and under no other. */
export function serveUnder(scope: Construct, api: RestApi, { host, certificateArn }: CustomDomain): void {
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
