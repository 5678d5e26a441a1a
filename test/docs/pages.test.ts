import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { runbook } from '#bin/commands/deployment/runbook.ts'
import { anchorOf } from '#bin/describe/reference/markdown.ts'
import { commandLinesIn, missingOptions, unknownParts } from '#test/support/command-lines.ts'

const root = join(import.meta.dirname, '../..')
const markdownIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
const guides = markdownIn('docs/guides')
const pages = ['README.md', ...markdownIn('docs'), ...guides]
const others = ['docs/decisions', '.github', 'test/bench'].flatMap(markdownIn)
const described = [...pages, 'CHANGELOG.md', 'client/README.md', ...others]
const read = (page: string) => readFileSync(join(root, page), 'utf8')
const { version } = JSON.parse(read('package.json'))
/** Returns the anchors of the headings of a page. */
const anchorsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
const links = described.flatMap((page) =>
  [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(
    ([link, target = '', anchor]) => [page, link, target, anchor] as const,
  ),
)

test.each(links)('a link of %s has an existing target: %s', (page, _link, target, anchor) => {
  const file = target === '' ? page : join(dirname(page), target)
  expect(existsSync(join(root, file))).toBe(true)
  if (anchor) expect(anchorsOf(file)).toContain(anchor)
})

test('the README links every page', () => {
  const named = links.filter(([page]) => page === 'README.md').map(([, , target]) => target)
  expect(markdownIn('docs').filter((page) => !named.includes(page))).toEqual([])
})

test.each(['openapi.json', 'asyncapi.json', 'test/openapi/released.json', 'client/package.json'])(
  '%s has the version of package.json',
  (file) => {
    const { info, version: own } = JSON.parse(read(file))
    expect(own ?? info.version).toBe(version)
  },
)

test('the README of the client installs the file of its version', () => {
  expect(read('client/README.md')).toContain(`npm install commerce-client-${version}.tgz`)
})

test.each(described)('%s names scripts that exist', (page) => {
  const { scripts } = JSON.parse(read('package.json'))
  const named = [...read(page).matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g)].map(([, name = '']) => name)
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
})

const pipeline = 'docs/examples/github-actions.yml'
test.each([...described, pipeline])('%s names commands and options that exist', (page) => {
  expect(commandLinesIn(read(page)).flatMap(unknownParts)).toEqual([])
})

const [deploying = ''] = read('README.md').match(/^## Deploying to AWS\n[\s\S]*?(?=^## )/m) ?? []

test.each([
  ['docs/operations.md', read('docs/operations.md')],
  ['docs/deployment.md', read('docs/deployment.md')],
  ['the README about AWS', deploying],
  ['the pipeline', read(pipeline)],
])('the commands of %s act on the stack, and ask nothing', (_, text) => {
  const found = commandLinesIn(text)
  expect(found.length).toBeGreaterThan(0)
  expect(found.flatMap(missingOptions)).toEqual([])
})

test('the commands of the runbook act on the stack; those that ask are run by a person', () => {
  const code = [...runbook().matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines).join('')
  const missing = commandLinesIn(code).flatMap(missingOptions)
  expect(missing.filter((option) => !option.endsWith(' --yes'))).toEqual([])
})
