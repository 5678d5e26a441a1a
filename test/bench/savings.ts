import { build } from 'esbuild'
import { throughBuiltinModule } from '#bin/build/builtin-modules.ts'
import { commonOptions } from '#bin/build/bundle.ts'
import { type Replacement, replacements, smallSdk } from '#bin/build/small-sdk.ts'
import { entryPoints } from '#lib/functions/function-names.ts'

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

/** Returns the savings as a Markdown table, and what a removed replacement saved. */
export function savingsAsMarkdown(saved: readonly Saving[]): string {
  const rows = saved.map(
    ({ name, builtFor, ratio }) => `| ${name} | ${builtFor} | +${((ratio - 1) * 100).toFixed(1)} % |`,
  )
  return `Replaced modules of SDKs (see [architecture.md](../../docs/architecture.md#bundles)), each put back in turn:

| Replaced | Function | Bytes without the replacement |
|---|---|---|
${rows.join('\n')}

### Without rewritten schemas

Only whole modules are replaced. The build also used to rewrite the schemas of the SDK's clients: literal keys, so the bundler
dropped unused operations, and no classes for errors that have a message only. This took a parser, patterns over the source
of the SDK, and a lint rule that kept adapters from importing classes of errors. It was removed: a warm call takes as long
without it, and a start with an order takes 3 % more CPU. Functions that use S3 or SES lose most: to load them takes a sixth to
a third more. These figures are of the removal and are not measured again.

| Figure | Rewritten | Not rewritten | Ratio |
|---|---|---|---|
| bundles of all functions, KB | 11218 | 12429 | 1.11 |
| bundle of orders.create, KB | 241 | 253 | 1.05 |
| bundle of imports.create, the largest, KB | 356 | 425 | 1.20 |
| bundle of otp.send, which grows most, KB | 280 | 361 | 1.29 |
| orders.create, CPU of init and first request, of the reference | 0.56 | 0.56 | 1.03 |
| orders.create, CPU per warm call, of the reference | 0.36 | 0.35 | 0.97 |
| imports.create, CPU of loading, ms | 52 | 60 | 1.17 |
| imports.rows, CPU of loading, ms | 40 | 49 | 1.23 |
| otp.send, CPU of loading, ms | 31 | 40 | 1.31 |

CPU was measured turn by turn: 40 starts of each form, and 12 processes of 300 warm calls. Each figure is a median; a ratio is the
median of the ratios of each turn. In two other runs a warm call took 1.00 and 1.02 times as long.
`
}

async function bytesOf(name: string, list: readonly Replacement[]): Promise<number> {
  const { outputFiles } = await build({
    ...commonOptions,
    entryPoints: [entryPoints()[name] as string],
    write: false,
    plugins: [smallSdk(list), throughBuiltinModule()],
  })
  return outputFiles[0]?.contents.byteLength ?? 0
}
