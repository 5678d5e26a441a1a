import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { withRoles } from '#bin/reference/guides.ts'
import { referenceSite, type Site } from '#bin/reference/site.ts'
import { loadSettings } from '#bin/settings-file.ts'
import { outputsOf, patternOf, scriptOf, walkthroughOf } from '#test/support/walkthrough.ts'

const folder = join(import.meta.dirname, '../../docs/guides')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const files = readdirSync(folder).filter((file) => file.endsWith('.md'))

test.each(files.filter((file) => file !== 'README.md'))('the list of guides names %s', (file) => {
  expect(read('README.md')).toContain(`](${file})`)
})

test('the table of roles is that of the local profile', async () => {
  expect(read('access.md')).toBe(withRoles(read('access.md'), await loadSettings()))
})

describe('the guides on the reference site', () => {
  let site: Site
  beforeAll(async () => {
    site = await referenceSite(await loadSettings())
  })

  test.each(files)('%s links only to pages of the site', (file) => {
    const page = String(site.get(file === 'README.md' ? 'guides.html' : file.replace('.md', '.html')))
    const links = [...page.matchAll(/(?:href|src)="(?!https?:|data:|#)([^"#]+)/g)].map(
      ([, link = '']) => link,
    )
    expect(links.filter((link) => !site.has(link))).toEqual([])
  })

  test('the guide links to the other guides', () => {
    expect(site.get('guide.html')).toContain('href="guides.html"')
  })
})

describe('a walkthrough', () => {
  const page = '```js\n// add.mjs\nadd()\n```\n\n```sh\nnode add.mjs\n```\n\n```text\nid …\n…\nend\n```\n'

  test('has its commands with their expected output, and files', () => {
    expect(walkthroughOf(page)).toEqual({
      files: { 'add.mjs': '// add.mjs\nadd()\n' },
      steps: [{ commands: 'node add.mjs\n', expected: 'id …\n…\nend' }],
    })
  })

  test('has the output of each step that ended', () => {
    const script = scriptOf(walkthroughOf('```sh\none\n```\n```sh\ntwo\n```\n'))
    expect(script).toBe("one\nprintf '\u001e'\ntwo\nprintf '\u001e'\n")
    expect(outputsOf('first\r\nline\n\u001esecond\n\u001ecut off')).toEqual(['first\nline', 'second'])
  })

  test.each([
    ['id 7\nx\ny\nend', true],
    ['id 7\n\nend', true],
    ['id 7\nx', false],
    ['no id 7\nx\nend', false],
  ])('expects of %j: %s', (output, expected) => {
    expect(patternOf('id …\n…\nend').test(output)).toBe(expected)
  })
})
