import { existsSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Metafile, PartialMessage, Plugin } from 'esbuild'
import { ofS3 } from './bundle-s3.ts'
import { type Replacement, replacements } from './bundle-sdk-replacements.ts'
import { ofStripe } from './bundle-stripe.ts'

const root = resolve(import.meta.dirname, '..')
/** The real path, as esbuild reports it: a checkout may link to the node_modules of another. */
const nodeModules = realpathSync(join(root, 'node_modules'))
const sdkModule = /node_modules.(@aws-sdk|@smithy|stripe).*\.js$/
const clientConfiguration = /@aws-sdk\/(client-|nested-clients\/).*\/runtimeConfig\.js$/

/** Every replacement in any function. */
export const allReplacements: readonly Replacement[] = [...replacements, ...ofS3, ...ofStripe]

/**
 * Removes the parts of the AWS SDK and of Stripe's SDK that a function on Lambda cannot use (see the replacements). The
 * build fails if the installed SDK has no such module, no longer imports it, or imports a name that the replacement
 * lacks: an upgrade of the SDK must not silently undo the trimming. The build also fails if a function has a client
 * without replacements, which would bring the credential chain back.
 */
export function smallSdk(list: readonly Replacement[] = allReplacements): Plugin {
  const byFile = new Map(list.map((replacement) => [join(nodeModules, replacement.module), replacement]))
  const files = [...byFile.keys()]
  return {
    name: 'small-sdk',
    setup({ onStart, onLoad, onEnd, initialOptions }) {
      initialOptions.metafile = true
      const loaded = new Set<string>()
      onStart(() => {
        loaded.clear()
        const gone = files.filter((file) => !existsSync(file))
        return { errors: gone.map(complaint('is not in the installed package')) }
      })
      onLoad({ filter: sdkModule }, async ({ path }) => {
        const replacement = byFile.get(path)
        if (!replacement) return undefined
        loaded.add(path)
        const { code } = replacement
        const contents = typeof code === 'string' ? code : code(await readFile(path, 'utf8'))
        return { contents, loader: 'js', resolveDir: join(path, '..') }
      })
      onEnd(({ metafile }) => {
        const inputs = inputsOf(metafile)
        const expected = (folder: string) => inputs.some((input) => input.startsWith(folder))
        const passedBy = [...byFile]
          .filter(([file, replacement]) => !loaded.has(file) && expected(bringerOf(replacement)))
          .map(([file]) => file)
        const whole = inputs.filter((input) => clientConfiguration.test(input) && !byFile.has(input))
        return {
          errors: [
            ...passedBy.map(complaint('is no longer imported by its package')),
            ...whole.map(complaint('is not replaced')),
          ],
        }
      })
    },
  }
}

function inputsOf(metafile: Metafile | undefined): string[] {
  return Object.keys(metafile?.inputs ?? {}).map((input) => resolve(root, input))
}

/** Returns the folder of the package that brings a module into a bundle. */
function bringerOf({ module, broughtBy }: Replacement): string {
  return `${join(nodeModules, broughtBy ?? module.slice(0, module.indexOf('/dist-es/')))}/`
}

function complaint(what: string): (file: string) => PartialMessage {
  const advice = 'see what changed and amend the replacements in bin/bundle-*.ts'
  return (file) => ({ text: `${file.slice(nodeModules.length + 1)} ${what}: ${advice}` })
}
