import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { commonOptions } from '#bin/build/bundle.ts'

/** Bundles the reference with the options of the service's functions, with unchanged SDK and imports. */
export async function bundleReference(outdir: string): Promise<string> {
  await build({
    ...commonOptions,
    entryPoints: { index: join(import.meta.dirname, 'handler.ts') },
    outdir: resolve(outdir),
  })
  return resolve(outdir, 'index.mjs')
}
