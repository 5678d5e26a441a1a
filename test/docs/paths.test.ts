import { globSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, normalize } from 'node:path'
import { expect, test } from '@jest/globals'
import { errorCatalog } from '#shared/error-catalog.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const ignored = /(^|\/)(node_modules|cdk\.out|dist|\.(?!github)[^/]+)(\/|$)/
const entries = globSync(['**', '.github/**'], { cwd: root, exclude: (path) => ignored.test(path) })

/** Names that look like paths, or are paths of files that readers, builds and runs create. */
const others = new Set([
  ...Object.keys(errorCatalog),
  ...Object.keys(JSON.parse(read('package.json')).dependencies),
  '.campaign.test.ts',
  '.github/workflows/deploy.yml',
  '.local/service.json',
  '.test.ts',
  'cdk.context.json',
  'config.yml',
  'index.mjs',
  'metafile.json',
  'prod.json',
  'profiles/dev.json',
  'profiles/prod-second.json',
  'profiles/prod.json',
  'profiles/staging.json',
  'runbook.md',
])

const part = String.raw`(?:[\w.*-]|\{[\w,-]+\})+`
const file = new RegExp(
  String.raw`(?<![\w./:@<$*{}-])(?:${part}/)*${part}\.(?:ts|js|mjs|py|md|json|ya?ml|css|svg)(?![\w/(:-])`,
  'g',
)
const folder = /`((?:bin|client|docs|functions|lib|shared|test)\/[\w./-]*)`/g

/** Returns the paths in a text that do not exist: neither from the root, nor beside the page, nor inside a folder. */
function missingIn(page: string, text: string): string[] {
  const named = [...text.matchAll(file), ...text.matchAll(folder)].map(([whole, path = whole]) =>
    normalize(path).replace(/\/$/, ''),
  )
  // The first line of a code block that readers save names its file.
  const saved = [...text.matchAll(/^ *```\w+\n *(?:#|\/\/) ([\w./-]+)/gm)].map(([, name]) => `/${name}`)
  return [...new Set(named)].filter((path) => {
    const patterns = [path, join(dirname(page), path), `**/${path}`]
    return (
      !others.has(path) &&
      !saved.some((name) => name.endsWith(`/${path}`)) &&
      !entries.some((entry) => patterns.some((one) => matchesGlob(entry, one)))
    )
  })
}

test.each(entries.filter((entry) => entry.endsWith('.md')))(
  '%s names files and folders that exist',
  (page) => {
    expect(missingIn(page, read(page))).toEqual([])
  },
)

const areas = ['bin', 'client', 'functions', 'lib', 'shared', 'test']

test.each(areas)('comments in %s name files and folders that exist', (area) => {
  const sources = entries.filter(
    (entry) => entry.startsWith(`${area}/`) && /\.(ts|js|mjs|py|css)$/.test(entry),
  )
  const missing = sources.flatMap((source) => {
    const comments = read(source).match(/\/\*[\s\S]*?\*\/|(?:^|\s)(?:\/\/|#) .*$/gm) ?? []
    return missingIn(source, comments.join('\n')).map((path) => `${source}: ${path}`)
  })
  expect(missing).toEqual([])
})
