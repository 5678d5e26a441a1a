import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { throughBuiltinModule } from './builtin-modules.ts'
import { smallSdk, unwantedModules } from './small-sdk.ts'

const root = resolve(import.meta.dirname, '../..')

interface BundleRequest {
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
  /** The folder to deploy: index.mjs and, for functions that no caller waits for, its source map. */
  directory: string
  /** The size of index.mjs. */
  bytes: number
  /** SHA-256 of the folder's content in hex. Equal sources and settings give equal hashes. */
  codeSha: string
}

/** Bundles all functions in one pass. Bundles share no code, so a change to one leaves the others unchanged. */
export async function bundle({ entries, outdir, settings }: BundleRequest): Promise<Record<string, Bundle>> {
  const files = Object.entries(entries).map(([name, file]) => [`${name}/index`, resolve(file)] as const)
  const { metafile } = await build({
    ...commonOptions,
    entryPoints: Object.fromEntries(files),
    outdir: resolve(outdir),
    plugins: [inlineSettings(settings), smallSdk(), throughBuiltinModule()],
    metafile: true,
    sourcemap: 'external',
    sourcesContent: false,
  })
  await finishMaps(metafile)
  const unwanted = unwantedModules(metafile)
  if (unwanted.length > 0) {
    throw new Error(
      `See what changed in the SDKs and amend the replacements in bin/build/small-sdk.ts: ${unwanted.join(', ')}`,
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

/**
 * Keeps the source maps of the functions whose log reads them, with paths from the root of the repository. The others are
 * removed, because a cold start loads the whole folder.
 */
async function finishMaps({ outputs }: Metafile): Promise<void> {
  const bundles = Object.entries(outputs).filter(([file]) => file.endsWith('.mjs'))
  const finished = bundles.map(async ([file, { inputs }]) => {
    const path = join(root, `${file}.map`)
    if (!('shared/platform/aws/powertools-log.ts' in inputs)) return rm(path)
    const map = JSON.parse(await readFile(path, 'utf8'))
    // The modules that plugins generate are named by their namespace, not by a path. Packages may be elsewhere.
    const sources = map.sources.map((source: string) =>
      (source.startsWith('.') ? relative(root, resolve(dirname(path), source)) : source)
        .replace(root, '')
        .replace(/^.*?(?=node_modules\/)/, ''),
    )
    await writeFile(path, JSON.stringify({ ...map, sources }))
  })
  await Promise.all(finished)
}

async function describe(directory: string): Promise<Bundle> {
  const hash = createHash('sha256')
  const code = await readFile(join(directory, 'index.mjs'))
  hash.update(code)
  const map = await readFile(join(directory, 'index.mjs.map')).catch(() => undefined)
  if (map) hash.update(map)
  return { directory, bytes: code.byteLength, codeSha: hash.digest('hex') }
}

/** Inlines the deployment's settings in place of the module that throws outside a bundle. */
export function inlineSettings(settings: string): Plugin {
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
