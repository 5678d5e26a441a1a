export interface Replacement {
  /** The file under node_modules that is replaced. */
  module: string
  /** Why a function on Lambda does not need the file. */
  why: string
  /** The replacement, or a function that derives it. It keeps the names that others import, or the build fails. */
  code: string | ((original: string) => string)
  /** The package that imports the module, if other packages import it as well as its own. */
  broughtBy?: string
}

/** The address suffix of an endpoint and the rejected options, equal for all clients. */
const regional = `
  const suffixOf = ({ Region, UseFIPS, UseDualStack, UseGlobalEndpoint, EndpointId }) => {
    if (UseFIPS || UseDualStack || UseGlobalEndpoint || EndpointId || /^(us-iso|eu-iso|eusc-)/.test(Region)) {
      throw new Error('This bundle reaches regional endpoints only: ' +
        'no FIPS, dual stack, global endpoint or isolated region.')
    }
    return /^cn-/.test(Region) ? 'amazonaws.com.cn' : 'amazonaws.com'
  }`

const endpointOf = (host: string) => `${regional}
  export const defaultEndpointResolver = (parameters) => {
    const suffix = suffixOf(parameters)
    const url = new URL(parameters.Endpoint ?? \`https://${host}.\${parameters.Region}.\${suffix}\`)
    return { url, headers: {}, properties: {} }
  }`

/** On AWS, a bucket has its own host name. Elsewhere, such as on a local engine, only a path is sure to resolve. */
const bucketEndpoint = `${regional}
  const plainName = /^(?!.*--(x|xa|op)-s3$)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/
  export const defaultEndpointResolver = (parameters) => {
    const { Bucket, Endpoint, ForcePathStyle, Region, Accelerate, UseObjectLambdaEndpoint } = parameters
    if (Accelerate || UseObjectLambdaEndpoint || (Bucket !== undefined && !plainName.test(Bucket))) {
      throw new Error('This bundle reaches a bucket of its region by a name without dots only: ' +
        'no ARN, access point of many regions, directory bucket, Outposts, Object Lambda or acceleration.')
    }
    const host = \`s3.\${Region}.\${suffixOf(parameters)}\`
    const url = new URL(Endpoint ?? \`https://\${host}\`)
    if (Bucket !== undefined && !Endpoint && !ForcePathStyle) url.hostname = \`\${Bucket}.\${host}\`
    else if (Bucket !== undefined) url.pathname = \`\${url.pathname.replace(/\\/$/, '')}/\${Bucket}\`
    const signing = { name: 'sigv4', signingName: 's3', signingRegion: Region, disableDoubleEncoding: true }
    return { url, headers: {}, properties: { authSchemes: [signing] } }
  }`

/** The clients in use with their endpoints. A client added to the runtime code needs a line here. */
const services = {
  'cognito-identity-provider': endpointOf('cognito-idp'),
  dynamodb: endpointOf('dynamodb'),
  eventbridge: endpointOf('events'),
  s3: bucketEndpoint,
  'secrets-manager': endpointOf('secretsmanager'),
  sesv2: endpointOf('email'),
  sfn: endpointOf('states'),
  sqs: endpointOf('sqs'),
}

const clients = Object.entries(services).flatMap(([client, endpoint]): Replacement[] => [
  {
    module: `@aws-sdk/client-${client}/dist-es/runtimeConfig.js`,
    why: `Lambda puts region and credentials into the environment, the credentials outliving the process: profiles,
      files, SSO, STS and instance metadata (two thirds of the client) are never asked. Settings of a profile have
      no meaning there; those of the environment that a deployment may set are read here.`,
    code: `
      import { getDefaultSocketTimeout } from '@aws-sdk/core/client'
      import { fromEnv } from '@aws-sdk/credential-provider-env'
      import { calculateBodyLength } from '@smithy/core/serde'
      import { NodeHttpHandler, streamCollector } from '@smithy/node-http-handler'
      import { getRuntimeConfig as getSharedRuntimeConfig } from './runtimeConfig.shared'
      const on = (name) => process.env[name]?.toLowerCase() === 'true'
      export const getRuntimeConfig = (config) => ({
        ...getSharedRuntimeConfig(config),
        accountIdEndpointMode: 'disabled',
        bodyLengthChecker: calculateBodyLength,
        credentialDefaultProvider: fromEnv,
        defaultSocketTimeout: getDefaultSocketTimeout(config.requestHandler, 300_000),
        retryMode: 'standard',
        streamCollector,
        useDualstackEndpoint: on('AWS_USE_DUALSTACK_ENDPOINT'),
        useFipsEndpoint: on('AWS_USE_FIPS_ENDPOINT'),
        ...config,
        maxAttempts: config.maxAttempts ?? (Number(process.env.AWS_MAX_ATTEMPTS) || undefined),
        region: config.region ?? process.env.AWS_REGION,
        runtime: 'node',
        requestHandler: NodeHttpHandler.create(config.requestHandler),
      })`,
  },
  {
    module: `@aws-sdk/client-${client}/dist-es/endpoint/endpointResolver.js`,
    why: `The region is fixed, so the host is known: no rule engine, no table of partitions. What the rules would
      treat otherwise (FIPS, dual stack, isolated regions, global endpoints) is refused, never ignored.`,
    code: endpoint,
  },
])

/** Returns the constructor of a class that replaces an omitted one. It throws. */
export const refusal = (what: string) => `constructor() { throw new Error('${what} is not in this bundle.') }`

export const replacements: Replacement[] = [
  ...clients,
  {
    module: '@smithy/core/dist-es/submodules/endpoints/middleware-endpoint/adaptors/getEndpointFromConfig.js',
    why: 'AWS_ENDPOINT_URL and its service-specific kin count as before; a profile file is not there to be read.',
    code: `
      export const getEndpointFromConfig = async (serviceId = '') => {
        const { env } = process
        if (env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS?.toLowerCase() === 'true') return undefined
        const suffix = serviceId.toUpperCase().replaceAll(' ', '_')
        return env['AWS_ENDPOINT_URL_' + suffix] || env.AWS_ENDPOINT_URL || undefined
      }`,
  },
  {
    module: '@aws-sdk/core/dist-es/submodules/client/util-endpoints/aws.js',
    why: 'The table of partitions served the rule engine, which the clients above do without.',
    code: 'export const awsEndpointFunctions = {}',
  },
  {
    module: '@smithy/core/dist-es/submodules/endpoints/middleware-endpoint/service-customizations/index.js',
    why: 'Only S3 has customisations: addressing a bucket by its path when its name needs that, which is refused above.',
    code: 'export const resolveParamsForS3 = async (parameters) => parameters',
  },
  {
    module: '@aws-sdk/middleware-endpoint-discovery/dist-es/resolveEndpointDiscoveryConfig.js',
    why: 'No command of this client discovers its endpoint any more, and the cache for it adds packages.',
    code: 'export const resolveEndpointDiscoveryConfig = (config) => config',
  },
  {
    module: '@smithy/core/dist-es/submodules/event-streams/index.js',
    why: 'Only SelectObjectContent of S3 streams events, and it would need a separate client here.',
    code: `
      export const eventStreamSerdeProvider = undefined
      export const resolveEventStreamSerdeConfig = (config) => config
      export class EventStreamSerde { ${refusal('Event streaming')} }`,
  },
  {
    module: '@smithy/signature-v4/dist-es/HeaderFormatter.js',
    why: 'It formats the headers of streamed events for their signature; requests are signed without it.',
    code: `export class HeaderFormatter { format() { throw new Error('Event signing is not in this bundle.') } }`,
  },
  {
    module: '@aws-sdk/signature-v4-multi-region/dist-es/index.js',
    why: `SigV4a signs only for global endpoints of EventBridge and access points of many regions of S3, which the
      endpoints above refuse.`,
    code: `
      import { SignatureV4 } from '@smithy/signature-v4'
      export class SignatureV4MultiRegion extends SignatureV4 { static sigv4aDependency() { return 'none' } }`,
  },
  {
    module: '@smithy/core/dist-es/submodules/checksum/sha256/Sha256Js.js',
    why: 'A fallback for a Node built without crypto, which Lambda has not.',
    code: `export class Sha256Js { ${refusal('SHA-256 in JavaScript')} }`,
  },
  {
    module: '@aws-sdk/core/dist-es/submodules/httpAuthSchemes/aws_sdk/clock-skew-defaults.js',
    why: 'Reads a profile and a variable to switch off the correction of a skewed clock; it stays on.',
    code: 'export const DEFAULT_DISABLE_CLOCK_SKEW_CORRECTION = false',
  },
  {
    module: '@smithy/core/dist-es/submodules/retry/util-retry/AdaptiveRetryStrategy.js',
    why: 'The retry mode is standard (set above); adaptive mode delays first attempts too, which no request here wants.',
    code: `export class AdaptiveRetryStrategy { ${refusal('Adaptive retry')} }`,
  },
  {
    module: '@aws-sdk/core/dist-es/submodules/client/middleware-logger/loggerMiddleware.js',
    why: 'No client here has a logger, but this one still filters the input and output of each call.',
    code: `
      export const loggerMiddlewareOptions = { name: 'loggerMiddleware', step: 'initialize' }
      export const loggerMiddleware = () => (next) => next
      export const getLoggerPlugin = () => ({ applyToStack: () => {} })`,
  },
  {
    module: '@aws-sdk/core/dist-es/submodules/client/middleware-user-agent/user-agent-middleware.js',
    why: 'No service asks for the list of SDK features in the User-Agent header; a name for the logs is enough.',
    code: `
      export const getUserAgentMiddlewareOptions = { name: 'getUserAgentMiddleware', step: 'build', priority: 'low' }
      export const userAgentMiddleware = () => (next) => (args) => {
        args.request.headers['user-agent'] = 'aws-sdk-js'
        return next(args)
      }
      export const getUserAgentPlugin = (config) => ({
        applyToStack: (stack) => stack.add(userAgentMiddleware(config), getUserAgentMiddlewareOptions),
      })`,
  },
]
