import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { throughBuiltinModule } from './bundle-builtins.ts'
import { smallSdk } from './bundle-sdk.ts'

const root = resolve(import.meta.dirname, '..')

export interface BundleRequest {
  /** The functions: name to entry file. */
  entries: Record<string, string>
  /** Each function gets a folder of its name here; `metafile.json` beside them says what each consists of. */
  outdir: string
  /** JSON text of the deployment's settings, built into every function. */
  settings: string
}

export interface Bundle {
  /** The folder to deploy; it holds index.mjs and nothing else. */
  directory: string
  bytes: number
  /** SHA-256 of index.mjs in hex: equal sources and settings give an equal one. */
  codeSha: string
}

/** Bundles all functions in one pass. Each stands alone, so a change of one leaves the others' code as it was. */
export async function bundle({ entries, outdir, settings }: BundleRequest): Promise<Record<string, Bundle>> {
  const files = Object.entries(entries).map(([name, file]) => [`${name}/index`, resolve(file)] as const)
  const { metafile } = await build({
    ...commonOptions,
    entryPoints: Object.fromEntries(files),
    outdir: resolve(outdir),
    plugins: [deployedSettings(settings), smallSdk(), throughBuiltinModule()],
    metafile: true,
  })
  await writeFile(join(outdir, 'metafile.json'), JSON.stringify(metafile))
  const bundles = Object.keys(entries).map(async (name) => [name, await describe(resolve(outdir, name))])
  return Object.fromEntries(await Promise.all(bundles))
}

/** How any function of this project is built, trimmed or not: the benchmark's reference is built with these too. */
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

/** Puts the deployment's settings in place of the module that throws outside a bundle. */
function deployedSettings(settings: string): Plugin {
  const json = JSON.stringify(JSON.parse(settings))
  const deployed = join(root, 'shared/platform/settings/deployed.ts')
  // Parsed at run time, as an object literal would take a key __proto__ for the prototype.
  const contents = `let settings
    export const deployedSettings = () => (settings ??= JSON.parse(${JSON.stringify(json)}))`
  return {
    name: 'deployed-settings',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/deployed\.ts$/ }, ({ path, importer }) => {
        const file = path.startsWith('#') ? join(root, path.slice(1)) : resolve(dirname(importer), path)
        return file === deployed ? { path: file, namespace: 'deployed-settings' } : undefined
      })
      onLoad({ filter: /.*/, namespace: 'deployed-settings' }, () => ({ contents, loader: 'js' }))
    },
  }
}
