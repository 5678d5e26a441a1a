import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { builtinModules, createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { minify, parse, print, type StringLiteral } from '@swc/core'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'

const root = resolve(import.meta.dirname, '../..')
const require = createRequire(import.meta.url)

export interface BundleRequest {
  /** The functions: name to entry file. */
  entries: Record<string, string>
  /**
   * The output folder. Each function gets a subfolder with its name; `metafile.json` lists the inputs of each function.
   */
  outdir: string
  /** JSON text of the deployment's settings, built into every function. */
  settings: string
}

export interface Bundle {
  /** The folder to deploy, which contains only index.mjs. */
  directory: string
  bytes: number
  /** SHA-256 of index.mjs in hex. Equal sources and settings give equal hashes. */
  codeSha: string
}

/** Bundles all functions in one pass. Bundles share no code, so a change to one leaves the others unchanged. */
export async function bundle({ entries, outdir, settings }: BundleRequest): Promise<Record<string, Bundle>> {
  const files = Object.entries(entries).map(([name, file]) => [`${name}/index`, resolve(file)] as const)
  const { metafile } = await build({
    ...commonOptions,
    entryPoints: Object.fromEntries(files),
    outdir: resolve(outdir),
    plugins: [deployedSettings(settings), smallSdk(), throughBuiltinModule()],
    metafile: true,
  })
  const unwanted = unwantedModules(metafile)
  if (unwanted.length > 0) {
    throw new Error(
      `See what changed in the SDKs and amend the replacements in bin/build/bundle.ts: ${unwanted.join(', ')}`,
    )
  }
  await writeFile(join(outdir, 'metafile.json'), JSON.stringify(metafile))
  const bundles = Object.keys(entries).map(async (name) => [name, await describe(resolve(outdir, name))])
  return Object.fromEntries(await Promise.all(bundles))
}

/** The build options of every function, trimmed or not. The benchmark's reference is built with them, too. */
export const commonOptions = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  mainFields: ['module', 'main'],
  outExtension: { '.js': '.mjs' },
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'error',
} satisfies BuildOptions

async function describe(directory: string): Promise<Bundle> {
  const code = await readFile(join(directory, 'index.mjs'))
  return { directory, bytes: code.byteLength, codeSha: createHash('sha256').update(code).digest('hex') }
}

/** Inlines the deployment's settings in place of the module that throws outside a bundle. */
export function deployedSettings(settings: string): Plugin {
  const json = JSON.stringify(JSON.parse(settings))
  const deployed = join(root, 'shared/platform/aws/deployed-settings.ts')
  // Parsed at run time, because an object literal would interpret a key __proto__ as the prototype.
  const contents = `let settings
    export const deployedSettings = () => (settings ??= JSON.parse(${JSON.stringify(json)}))`
  return {
    name: 'deployed-settings',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/deployed-settings\.ts$/ }, ({ path, importer }) => {
        const file = path.startsWith('#') ? join(root, path.slice(1)) : resolve(dirname(importer), path)
        return file === deployed ? { path: file, namespace: 'deployed-settings' } : undefined
      })
      onLoad({ filter: /.*/, namespace: 'deployed-settings' }, () => ({ contents, loader: 'js' }))
    },
  }
}

/**
 * Loads Node's own modules through process.getBuiltinModule. An ESM import reads every export of the module, which runs
 * its lazy getters: node:http then loads undici (about 30 ms instead of 4), node:process takes about 7 ms. Only names
 * that the bundle uses are read, because esbuild drops the others.
 */
export function throughBuiltinModule(): Plugin {
  return {
    name: 'through-builtin-module',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^(node:)?[a-z][a-z0-9_/]*$/ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, '')
        if (!builtinModules.includes(name)) return undefined
        const namespace = kind === 'import-statement' ? 'builtin' : 'builtin-object'
        return { path: name, namespace, sideEffects: false }
      })
      onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: facade(path), loader: 'js' }))
      // import() and require() return the whole module, so they get the object itself. Its getters are not run.
      onLoad({ filter: /.*/, namespace: 'builtin-object' }, ({ path }) => {
        return { contents: `module.exports = process.getBuiltinModule('node:${path}')`, loader: 'js' }
      })
    },
  }
}

function facade(name: string): string {
  const names = Object.keys(require(`node:${name}`)).filter((key) => key !== 'default')
  const exported = names.map((key, index) => {
    return `const e${index} = /* @__PURE__ */ (() => builtin[${JSON.stringify(key)}])()\nexport { e${index} as ${key} }`
  })
  const builtin = `const builtin = /* @__PURE__ */ (() => process.getBuiltinModule('node:${name}'))()`
  return [builtin, 'export default builtin', ...exported].join('\n')
}

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

const runtime = JSON.stringify(join(import.meta.dirname, 'bundle-runtime.ts'))
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
      if (!host) throw new Error(`@aws-sdk/client-${client} has no host name in bin/build/bundle.ts`)
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
    name: 'keys of schemas',
    savesIn: 'imports.rows',
    modules: /@aws-sdk\/client-.*\/schemas_0\.js$/,
    code: async (path) => withLiteralKeys(await readFile(path, 'utf8')),
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
