import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { entryPoints } from '#lib/functions/function-names.ts'
import { register } from '#shared/settings/register.ts'

const folder = join(import.meta.dirname, '../../docs')
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
const read = (page: string) => readFileSync(join(folder, page), 'utf8')

/** The rows of each table whose last column has the tests, by their first cell. */
const proven = pages.flatMap((page) =>
  [...read(page).matchAll(/^\|.*\| Test \|\n\|[-| ]+\|\n((?:\|.*\n)+)/gm)].flatMap(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .map((row) => row.split('|').map((cell) => cell.trim()))
      .map((cells) => [page, cells[1] ?? '', cells.at(-2) ?? ''] as const),
  ),
)

test.each(['security.md', 'stability.md'])('%s names the tests of what it promises', (page) => {
  expect(proven.map(([name]) => name)).toContain(page)
})

// That the files exist is tested for all pages (paths.test.ts).
test.each(proven)('%s names a test: %s', (_page, _row, tests) => {
  expect(tests).toMatch(/`test\/[^`]+\.test\.ts`/)
})

test.each(pages)('%s names settings and functions that exist', (page) => {
  const known = new Set([...Object.keys(register), ...Object.keys(entryPoints())])
  const areas = new Set(Array.from(known, (name) => name.split('.')[0]))
  const named = Array.from(read(page).matchAll(/`(([a-z-]+)\.[A-Za-z-]+)`/g)).filter(
    ([, name = '', area = '']) => areas.has(area) && !/\.(ts|md|json|mjs)$/.test(name),
  )
  expect(named.map(([, name = '']) => name).filter((name) => !known.has(name))).toEqual([])
})
