import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import ts from 'typescript'

interface Measure {
  limit: number
  target: number
  value: number
  name: string
  /** What was counted, printed if the value exceeds its limit. */
  found?: string[]
}

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const filesOf = (...patterns: string[]) => globSync(patterns, { cwd: root }).sort()

const source = filesOf('{bin,lib,functions,shared}/**/*.ts')
const tests = filesOf('test/**/*.ts')
const imports = new Map([...source, ...tests].map((file) => [file, importsOf(file)]))

/** Returns the files of the repository that a file imports, types included. */
function importsOf(file: string): string[] {
  return ts
    .preProcessFile(read(file))
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => /^[.#].*\.ts$/.test(name))
    .map((name) => (name.startsWith('#') ? name.slice(1) : join(dirname(file), name)))
}

const importersOf = (file: string, files: string[]) => files.filter((one) => imports.get(one)?.includes(file))

/** Returns the files that a function loads when it starts: imports of types are erased. */
async function loadedBy(entry: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
  })
  return Object.keys(metafile.inputs)
}

/** Returns the source files that the walk of an order in docs/architecture.md names. */
function filesOfTheWalk(): string[] {
  const [, walk = ''] = read('docs/architecture.md').split(/^## How one order is created$/m)
  const [section = ''] = walk.split(/^## /m)
  const named = new Set(Array.from(section.matchAll(/`([^`\s]+\.ts)`/g), ([, name = '']) => name))
  return [...named].map((name) => {
    const file = source.find((one) => `/${one}`.endsWith(`/${name}`))
    if (!file) throw new Error(`docs/architecture.md names ${name}, which does not exist`)
    return file
  })
}

/** Returns the folder of a file, without deeper levels: an area of shared/, or a folder of the platform. */
function folderOf(file: string): string {
  return file
    .split('/')
    .slice(0, -1)
    .slice(0, file.startsWith('shared/platform/') ? 3 : 2)
    .join('/')
}

/** Returns the pairs of folders under shared/ that import each other. */
function mutualImports(): string[] {
  const shared = source.filter((file) => file.startsWith('shared/'))
  const edges = new Set(
    shared.flatMap((file) => (imports.get(file) ?? []).map((one) => `${folderOf(file)} ${folderOf(one)}`)),
  )
  return [...edges].filter((edge) => {
    const [from = '', to = ''] = edge.split(' ')
    return from < to && edges.has(`${to} ${from}`)
  })
}

/** Returns the pairs of files that import each other, types included. */
function mutualFiles(): string[] {
  return source.flatMap((file) =>
    (imports.get(file) ?? [])
      .filter((one) => file < one && imports.get(one)?.includes(file))
      .map((one) => `${file} ${one}`),
  )
}

/** Returns the folder with the most source files side by side. */
function fullestFolder(): string[] {
  const folders = [...Map.groupBy(source, dirname).values()]
  return folders.toSorted((a, b) => b.length - a.length)[0] ?? []
}

const platform = source.filter((file) => file.startsWith('shared/platform/'))
const walk = filesOfTheWalk()
const loaded = await loadedBy('functions/orders/create-order/handler.ts')
const mutual = mutualImports()
const mutualPairs = mutualFiles()
const fullest = fullestFolder()
const single = platform.filter(
  (file) => importersOf(file, source).length === 1 && importersOf(file, tests).length === 0,
)
const readme = read('README.md')

const linesOf = (file: string) => read(file).split('\n').length - 1
const longest = source.toSorted((a, b) => linesOf(b) - linesOf(a))
const [readmeLines, readmeWords] = [readme.split('\n').length - 1, readme.split(/\s+/).filter(Boolean).length]

// A limit is today's value until the target is reached. Lower it when a value falls; do not raise it.
// biome-ignore format: a table
const measures: Measure[] = [
  { limit: 49, target: 49, value: loaded.length, name: 'files that create-order loads', found: loaded },
  { limit: 12, target: 12, value: walk.length, name: 'files named in the walk of an order', found: walk },
  { limit: 11, target: 11, value: new Set(platform.map(dirname)).size, name: 'folders of the platform' },
  { limit: 77, target: 77, value: platform.length, name: 'files of the platform' },
  { limit: 0, target: 0, value: mutual.length, name: 'pairs of shared folders that import each other', found: mutual },
  { limit: 0, target: 0, value: mutualPairs.length, name: 'pairs of files that import each other', found: mutualPairs },
  { limit: 30, target: 20, value: fullest.length, name: 'source files side by side in a folder', found: fullest },
  { limit: 0, target: 0, value: single.length, name: 'platform files with one importer and no test', found: single },
  { limit: 250, target: 250, value: linesOf(longest[0] ?? ''), name: 'lines of the longest file', found: longest.slice(0, 1) },
  { limit: 150, target: 150, value: readmeLines, name: 'lines of the README' },
  { limit: 1_200, target: 1_200, value: readmeWords, name: 'words of the README' },
]

console.log(`${'measure'.padEnd(46)}   value   limit  target`)
for (const { name, value, limit, target } of measures) {
  const figures = [value, limit, target].map((figure) => String(figure).padStart(8)).join('')
  console.log(`${name.padEnd(46)}${figures}`)
}
for (const { name, value, limit, found = [] } of measures.filter((one) => one.value > one.limit)) {
  console.error([`\n${name}: ${value}, but the limit is ${limit}`, ...found].join('\n  '))
  process.exitCode = 1
}
