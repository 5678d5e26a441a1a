/**
 * The code that replaces parts of SDKs in bundled functions: small-sdk.ts lists the parts. A replacement rejects options
 * that it does not support; it never ignores them.
 */

/** Returns the configuration of an SDK client. It reads Lambda's environment only: no files, profiles or metadata. */
export function environmentOf(serviceId: string) {
  const { env } = process
  const isOn = (name: string) => env[name]?.toLowerCase() === 'true'
  const credentials = {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN,
  }
  const ownEndpoint = env[`AWS_ENDPOINT_URL_${serviceId.toUpperCase().replaceAll(' ', '_')}`]
  return {
    accountIdEndpointMode: 'disabled',
    credentialDefaultProvider: () => async () => credentials,
    defaultUserAgentProvider: async () => [['aws-sdk-js', '3']],
    endpoint: ownEndpoint || env.AWS_ENDPOINT_URL || undefined,
    maxAttempts: Number(env.AWS_MAX_ATTEMPTS) || undefined,
    region: env.AWS_REGION,
    retryMode: 'standard',
    useDualstackEndpoint: isOn('AWS_USE_DUALSTACK_ENDPOINT'),
    useFipsEndpoint: isOn('AWS_USE_FIPS_ENDPOINT'),
  }
}

interface EndpointParameters extends Record<string, string | boolean | undefined> {
  Region: string
  Endpoint?: string
  Bucket?: string
}

/** Returns the endpoint of a service in the client's region. */
export function regionalEndpoint(host: string, parameters: EndpointParameters) {
  return { url: regionalUrl(host, parameters), headers: {}, properties: {} }
}

/** Returns the endpoint of a bucket: a host name on AWS, a path elsewhere, where bucket hosts may not resolve. */
export function bucketEndpoint(host: string, parameters: EndpointParameters) {
  const { Bucket, Endpoint, ForcePathStyle, Region } = parameters
  const isPlain =
    Bucket === undefined || /^(?!.*--(x|xa|op)-s3$)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(Bucket)
  if (!isPlain) throw new Error('A bundle reaches a bucket of its region by a name without dots only.')
  const url = regionalUrl(host, parameters)
  if (Bucket !== undefined && !Endpoint && !ForcePathStyle) url.hostname = `${Bucket}.${url.hostname}`
  else if (Bucket !== undefined) url.pathname = `${url.pathname.replace(/\/$/, '')}/${Bucket}`
  const signing = { name: 'sigv4', signingName: 's3', signingRegion: Region, disableDoubleEncoding: true }
  return { url, headers: {}, properties: { authSchemes: [signing] } }
}

const unsupported = 'UseFIPS UseDualStack UseGlobalEndpoint EndpointId Accelerate UseObjectLambdaEndpoint'

function regionalUrl(host: string, parameters: EndpointParameters): URL {
  const { Region, Endpoint } = parameters
  const isSpecial = unsupported.split(' ').some((name) => parameters[name])
  if (isSpecial || /^(us-iso|eu-iso|eusc-)/.test(Region)) {
    throw new Error('A bundle reaches regional endpoints only.')
  }
  const suffix = Region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return new URL(Endpoint ?? `https://${host}.${Region}.${suffix}`)
}

/** Replaces `@aws-sdk/middleware-endpoint-discovery`: no command of DynamoDB discovers its endpoint any more. */
export const resolveEndpointDiscoveryConfig = <T>(config: T) => config

/** Replaces `@smithy/core/event-streams`, which only a few operations use, none of them here. */
export const resolveEventStreamSerdeConfig = <T>(config: T) => config
export const eventStreamSerdeProvider = undefined
export class EventStreamSerde {
  constructor() {
    throw new Error('Event streams are not in this bundle.')
  }
}

/**
 * Replaces `@aws-sdk/checksums/flexible-checksums`: the signature of a request already covers its body. S3 itself refuses
 * an operation that needs a checksum and has none.
 */
export function resolveFlexibleChecksumsConfig<T extends Record<string, unknown>>(config: T) {
  const { requestChecksumCalculation, responseChecksumValidation } = config
  if (requestChecksumCalculation !== 'WHEN_REQUIRED' || responseChecksumValidation !== 'WHEN_REQUIRED') {
    throw new Error('Checksums are not in this bundle: the S3 client must have them WHEN_REQUIRED.')
  }
  return Object.assign(config, { requestChecksumCalculation: async () => 'WHEN_REQUIRED' })
}
export const getFlexibleChecksumsPlugin = () => ({ applyToStack() {} })

/** Replaces a class that is constructed but never used. */
export class Unused {}
