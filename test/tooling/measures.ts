import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import ts from 'typescript'

/** `npm run measures`: how much source a reader has to know. It prints figures; none of them is a limit. */

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
  return source.filter((file) => [...named].some((name) => `/${file}`.endsWith(`/${name}`)))
}

const linesOf = (file: string) => read(file).split('\n').length - 1
const platform = source.filter((file) => file.startsWith('shared/platform/'))
const single = platform.filter(
  (file) => importersOf(file, source).length === 1 && importersOf(file, tests).length === 0,
)
const [longest = ''] = source.toSorted((a, b) => linesOf(b) - linesOf(a))
const [fullest = []] = [...Map.groupBy(source, dirname).values()].toSorted((a, b) => b.length - a.length)
const loaded = await loadedBy('functions/orders/create-order/handler.ts').catch(() => [])
const readme = read('README.md')

const measures: [name: string, value: number, which?: string][] = [
  ['files that create-order loads', loaded.length],
  ['files named in the walk of an order', filesOfTheWalk().length],
  ['folders of the platform', new Set(platform.map(dirname)).size],
  ['files of the platform', platform.length],
  ['source files side by side in a folder', fullest.length, dirname(fullest[0] ?? '')],
  ['platform files with one importer and no test', single.length, single.join(' ')],
  ['lines of the longest file', linesOf(longest), longest],
  ['kilobytes of openapi.json', Math.round(Buffer.byteLength(read('openapi.json')) / 1024)],
  ['lines of client/schema.ts', linesOf('client/schema.ts')],
  ['lines of the README', linesOf('README.md')],
  ['words of the README', readme.split(/\s+/).filter(Boolean).length],
]
for (const [name, value, which = ''] of measures)
  console.log(`${name.padEnd(46)}${String(value).padStart(6)}  ${which}`.trimEnd())
