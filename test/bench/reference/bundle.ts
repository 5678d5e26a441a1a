import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { commonOptions } from '#bin/build/bundle.ts'

/**
 * Bundles a reference with the options of the service's functions, with unchanged SDK and imports.
 * @param source its file in this folder
 */
export async function bundleReference(outdir: string, source = 'handler.ts'): Promise<string> {
  await build({
    ...commonOptions,
    entryPoints: { index: join(import.meta.dirname, source) },
    outdir: resolve(outdir),
  })
  return resolve(outdir, 'index.mjs')
}
