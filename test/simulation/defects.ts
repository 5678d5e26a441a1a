import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { applyPatch, parsePatch, type StructuredPatch } from 'diff'

const root = join(import.meta.dirname, '../..')
const folder = join(import.meta.dirname, 'defects')

/** Where a defect is found: the first failing seed, counted from 1, and the promise that it breaks. */
export interface Finding {
  seed: number
  promise: string
}

/** The mistakes that an engineer could make, by what they leave out. Each is a patch of the source, which the simulator must find. */
export const defects = globSync('*.patch', { cwd: folder })
  .map((file) => basename(file, '.patch'))
  .toSorted()

/** Returns the file of a defect: its finding, and the patch. */
export function fileOf(name: string): string {
  return join(folder, `${name}.patch`)
}

/** Returns where the defect was found when the seeds were last counted. */
export function findingOf(name: string): Finding | undefined {
  const [, seed, promise] = /^seed (\d+): (.+)/.exec(readFileSync(fileOf(name), 'utf8')) ?? []
  return seed && promise ? { seed: Number(seed), promise } : undefined
}

/**
 * Returns the changed sources of a defect, by their paths. Its lines may have moved, and others around them may have changed.
 * @throws Error if a line that the patch changes is a different one now
 */
export function changedSources(
  name: string,
  patch = readFileSync(fileOf(name), 'utf8'),
  sourceOf = (path: string) => readFileSync(join(root, path), 'utf8'),
): Map<string, string> {
  const sources = parsePatch(patch).map((one) => {
    const path = String(one.newFileName).replace(/^b\//, '')
    const changed = applied(one, sourceOf(path))
    if (changed === false) throw new Error(`renew this patch: ${name} does not apply to ${path}`)
    return [path, changed] as const
  })
  return new Map(sources)
}

/** Applies a patch. Lines around it may differ from it; all of them, if the lines that it removes tell where it belongs. */
function applied(patch: StructuredPatch, source: string): string | false {
  const isPlaced = patch.hunks.every(({ lines }) => lines.some((line) => line.startsWith('-')))
  const compareLine = (_: number, line: string, operation: string, content: string) =>
    operation === ' ' || line === content
  const changed = applyPatch(source, patch, { fuzzFactor: 4 })
  return changed === false && isPlaced ? applyPatch(source, patch, { compareLine }) : changed
}

/** Plants a defect in the modules that are imported from now on. */
export function plant(name: string): void {
  if (!defects.includes(name)) throw new Error(`no defect is called "${name}"`)
  const sources = new Map(
    [...changedSources(name)].map(([path, source]) => [pathToFileURL(join(root, path)).href, source]),
  )
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const source = sources.get(url)
      return source === undefined ? loaded : { ...loaded, source }
    },
  })
}
