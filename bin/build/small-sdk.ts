import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Metafile, Plugin } from 'esbuild'

/** The host names of the clients in use, and how an endpoint is made of one. */
const hosts: Record<string, string> = {
  'cognito-identity-provider': 'cognito-idp',
  dynamodb: 'dynamodb',
  eventbridge: 'events',
  s3: 's3',
  'secrets-manager': 'secretsmanager',
  sesv2: 'email',
  sfn: 'states',
  sqs: 'sqs',
}

export interface Replacement {
  name: string
  /** A function that it makes smaller by at least 3 %. */
  savesIn: string
  /** The modules that it replaces as a whole, by their paths. */
  modules: RegExp
  /** Returns the code of the new module. */
  code(path: string): string | Promise<string>
}

const runtime = JSON.stringify(join(import.meta.dirname, 'sdk-runtime.ts'))
const fromRuntime = (...names: string[]) => `export { ${names.join(', ')} } from ${runtime}`

/** Each saves at least 3 % of a function's bytes: test/bench/README.md has the figures. */
export const replacements: readonly Replacement[] = [
  {
    name: 'configuration of clients',
    savesIn: 'orders.create',
    modules: /@aws-sdk\/(client-|nested-clients\/).*\/runtimeConfig\.js$/,
    code: () => `
      import { calculateBodyLength, streamCollector } from '@smithy/core/serde'
      import { environmentOf } from ${runtime}
      import { getRuntimeConfig as getSharedConfig } from './runtimeConfig.shared'
      export const getRuntimeConfig = (config) => {
        const shared = getSharedConfig(config)
        if (!config.requestHandler?.handle) throw new Error('A client in a bundle needs a request handler.')
        return {
          ...shared,
          ...environmentOf(shared.serviceId),
          bodyLengthChecker: calculateBodyLength,
          streamCollector,
          ...config,
          runtime: 'node',
        }
      }`,
  },
  {
    // The same packages, as built for a browser: without configuration files.
    name: 'configuration files',
    savesIn: 'tasks.enqueue',
    modules:
      /(@smithy\/core\/dist-es\/submodules\/(config|endpoints)|@aws-sdk\/core\/dist-es\/submodules\/httpAuthSchemes)\/index\.js$/,
    code: (path) => readFile(join(dirname(path), 'index.browser.js'), 'utf8'),
  },
  {
    name: 'endpoint rules',
    savesIn: 'orders.create',
    modules:
      /@aws-sdk\/(client-[^/]+\/dist-es\/endpoint\/endpointResolver|core\/.*\/util-endpoints\/aws)\.js$/,
    code(path) {
      const [, client = ''] = path.match(/\/client-([^/]+)\/dist-es\/endpoint/) ?? []
      if (client === '') return 'export const awsEndpointFunctions = {}'
      const host = hosts[client]
      if (!host) throw new Error(`@aws-sdk/client-${client} has no host name in bin/build/small-sdk.ts`)
      return `
        import { ${client === 's3' ? 'bucketEndpoint' : 'regionalEndpoint'} as endpoint } from ${runtime}
        export const defaultEndpointResolver = (parameters) => endpoint('${host}', parameters)`
    },
  },
  {
    name: 'event streams',
    savesIn: 'orders.create',
    modules: /@smithy\/core\/dist-es\/submodules\/event-streams\/index\.js$/,
    code: () => fromRuntime('EventStreamSerde', 'eventStreamSerdeProvider', 'resolveEventStreamSerdeConfig'),
  },
  {
    name: 'endpoint discovery',
    savesIn: 'login.add-claims',
    modules: /@aws-sdk\/middleware-endpoint-discovery\/dist-es\/index\.js$/,
    code: () => fromRuntime('resolveEndpointDiscoveryConfig'),
  },
  {
    name: 'checksums of files',
    savesIn: 'imports.rows',
    modules: /@aws-sdk\/checksums\/dist-es\/submodules\/flexible-checksums\/index\.js$/,
    code: () => fromRuntime('getFlexibleChecksumsPlugin', 'resolveFlexibleChecksumsConfig'),
  },
  {
    name: 'resources of Stripe',
    savesIn: 'refunds.create',
    modules:
      /\/stripe\/esm\/(resources\/(?!(?:Charges|Refunds)\.js).*|resources|StripeEventNotificationHandler)\.js$/,
    code: async (path) => fromRuntime(...Object.keys(await import(path)).map((name) => `Unused as ${name}`)),
  },
]

/** Replaces modules of the AWS SDK and of Stripe's that a function cannot use. It changes no code of the others. */
export function smallSdk(list: readonly Replacement[] = replacements): Plugin {
  return {
    name: 'small-sdk',
    setup({ onLoad }) {
      onLoad({ filter: /node_modules.(@aws-sdk|@smithy|stripe).*\.js$/ }, async ({ path }) => {
        const contents = await list.find(({ modules }) => modules.test(path))?.code(path)
        return contents === undefined ? undefined : { contents, loader: 'js', resolveDir: dirname(path) }
      })
    },
  }
}

/** Returns the modules of a build that should have been replaced. An upgrade of an SDK may bring one back. */
export function unwantedModules({ outputs }: Metafile): string[] {
  const unwanted =
    /credential-provider-|shared-ini-file-loader|endpoint\/bdd|eventstream-codec|endpoint-cache|flexibleChecksumsMiddleware|stripe.*\/Checkout\/Sessions/
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  const found = inputs.filter(([input, { bytesInOutput }]) => bytesInOutput > 0 && unwanted.test(input))
  return [...new Set(found.map(([input]) => input))]
}
