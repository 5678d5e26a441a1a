import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { minify, parse, print, type StringLiteral } from '@swc/core'
import { build, type Metafile, type Plugin } from 'esbuild'

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
  /** The modules that it replaces, by their paths. */
  modules: RegExp
  /** Returns what a module is replaced by. */
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
    name: 'schemas',
    savesIn: 'imports.rows',
    modules: /@aws-sdk\/client-.*\/schemas_0\.js$/,
    code: async (path) => withLiteralKeys(withoutPlainErrors(await readFile(path, 'utf8'))),
  },
  {
    name: 'resources of Stripe',
    savesIn: 'refunds.create',
    modules:
      /\/stripe\/esm\/(resources\/(?!(?:Charges|Refunds)\.js).*|resources|StripeEventNotificationHandler)\.js$/,
    code: async (path) => fromRuntime(...(await exportsOf(path)).map((name) => `Unused as ${name}`)),
  },
]

/** Replaces the parts of the AWS SDK and of Stripe's that a function cannot use. */
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
    /credential-provider-|shared-ini-file-loader|endpoint\/bdd|eventstream-codec|endpoint-cache|flexibleChecksumsMiddleware/
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  const found = inputs.filter(([input, { bytesInOutput }]) => bytesInOutput > 0 && unwanted.test(input))
  return [...new Set(found.map(([input]) => input))]
}

/**
 * Leaves out the classes of errors that have a message only. For an error without a class, the SDK throws the one of its
 * service, with the same name, status and message.
 */
function withoutPlainErrors(source: string): string {
  const messages = [...source.matchAll(/^const (\w+) = "[Mm]essage";$/gm)].map(([, name]) => name)
  const schemas = source.matchAll(/^export var (\w+\$) = \[-3, \w+, \w+,\s*\{[^}]*\},\s*\[(\w*)\],/gm)
  const plain = new Set(
    [...schemas].filter(([, , member]) => !member || messages.includes(member)).map(([, name]) => name),
  )
  return source.replace(/^\w+\.registerError\((\w+\$), \w+\);$/gm, (call, name) =>
    plain.has(name) ? '' : call,
  )
}

/**
 * Writes constant keys of object literals as literals, and constants that are used once where they are used. To the
 * bundler, a key in brackets could be anything: it then keeps the schemas of every operation.
 */
async function withLiteralKeys(source: string): Promise<string> {
  const module = await parse(source, { syntax: 'ecmascript', target: 'es2022' })
  const constants = new Map<string, StringLiteral>()
  for (const item of module.body) {
    if (item.type !== 'VariableDeclaration' || item.kind !== 'const') continue
    for (const { id, init } of item.declarations) {
      if (id.type === 'Identifier' && init?.type === 'StringLiteral') constants.set(id.value, init)
    }
  }
  const withLiterals = JSON.parse(JSON.stringify(module), (_name, node) => {
    const isComputed = node?.type === 'Computed' && node.expression.type === 'Identifier'
    return isComputed ? (constants.get(node.expression.value) ?? node) : node
  })
  const { code } = await print(withLiterals)
  return (await minify(code, { module: true, compress: true, mangle: false })).code
}

/** Returns the names that an ES module exports. */
async function exportsOf(path: string): Promise<string[]> {
  const { metafile } = await build({ entryPoints: [path], write: false, metafile: true, logLevel: 'error' })
  return Object.values(metafile.outputs).flatMap(({ exports }) => exports)
}
