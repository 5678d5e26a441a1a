import { build } from 'esbuild'
import { throughBuiltinModule } from '#bin/build/builtin-modules.ts'
import { commonOptions } from '#bin/build/bundle.ts'
import { type Replacement, replacements, smallSdk } from '#bin/build/small-sdk.ts'
import { functionEntries } from '#lib/function-entries.ts'

export interface Saving {
  name: string
  /** The function that was built. */
  builtFor: string
  /** The ratio of its bytes without the replacement to those with it. */
  ratio: number
}

/** Measures the savings of each replacement by removing it. The others require the first, which is measured alone. */
export async function savings(): Promise<Saving[]> {
  const found: Saving[] = []
  for (const replacement of replacements) {
    const { name, savesIn } = replacement
    const isFirst = replacement === replacements[0]
    const less = isFirst ? [] : replacements.filter((other) => other !== replacement)
    const more = isFirst ? [replacement] : replacements
    found.push({
      name,
      builtFor: savesIn,
      ratio: (await bytesOf(savesIn, less)) / (await bytesOf(savesIn, more)),
    })
  }
  return found
}

async function bytesOf(name: string, list: readonly Replacement[]): Promise<number> {
  const { outputFiles } = await build({
    ...commonOptions,
    entryPoints: [functionEntries()[name] as string],
    write: false,
    plugins: [smallSdk(list), throughBuiltinModule()],
  })
  return outputFiles[0]?.contents.byteLength ?? 0
}
