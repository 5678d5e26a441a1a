export interface Replacement {
  /** The file under node_modules that is replaced. */
  module: string
  /** Why a function on Lambda loses nothing by it. */
  why: string
  /** What stands there instead. It keeps the names that others import, or the build fails. */
  code: string
}

/** The clients in use and the first label of their hosts. A client added to the runtime code needs a line here. */
const services = { dynamodb: 'dynamodb', eventbridge: 'events', 'secrets-manager': 'secretsmanager' }

const clients = Object.entries(services).flatMap(([client, host]): Replacement[] => [
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
    code: `
      export const defaultEndpointResolver = ({ Endpoint, Region, UseFIPS, UseDualStack, EndpointId }) => {
        if (UseFIPS || UseDualStack || EndpointId || /^(us-iso|eu-iso|eusc-)/.test(Region)) {
          throw new Error('This bundle reaches regional endpoints only: no FIPS, dual stack or isolated region.')
        }
        const suffix = /^cn-/.test(Region) ? 'amazonaws.com.cn' : 'amazonaws.com'
        const url = new URL(Endpoint ?? \`https://${host}.\${Region}.\${suffix}\`)
        return { url, headers: {}, properties: {} }
      }`,
  },
])

const refusal = (what: string) => `constructor() { throw new Error('${what} is not in this bundle.') }`

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
    why: 'Only S3 has customisations, and no S3 client is bundled.',
    code: 'export const resolveParamsForS3 = async (parameters) => parameters',
  },
  {
    module: '@aws-sdk/middleware-endpoint-discovery/dist-es/resolveEndpointDiscoveryConfig.js',
    why: 'No command of this client discovers its endpoint any more; the cache for it brings packages of its own.',
    code: 'export const resolveEndpointDiscoveryConfig = (config) => config',
  },
  {
    module: '@smithy/core/dist-es/submodules/event-streams/index.js',
    why: 'None of the services has an operation that streams events.',
    code: `
      export const eventStreamSerdeProvider = undefined
      export class EventStreamSerde { ${refusal('Event streaming')} }`,
  },
  {
    module: '@smithy/signature-v4/dist-es/HeaderFormatter.js',
    why: 'It formats the headers of streamed events for their signature; requests are signed without it.',
    code: `export class HeaderFormatter { format() { throw new Error('Event signing is not in this bundle.') } }`,
  },
  {
    module: '@aws-sdk/signature-v4-multi-region/dist-es/index.js',
    why: 'SigV4a signs only for EventBridge global endpoints, which the endpoint above refuses.',
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
