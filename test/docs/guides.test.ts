import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { loadSettings } from '#bin/build/settings-file.ts'
import { referenceSite, type Site } from '#bin/describe/reference/site.ts'
import { codeOf, outputsOf, patternOf, scriptOf, walkthroughOf } from '#test/support/walkthrough.ts'

const folder = join(import.meta.dirname, '../../docs/guides')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const files = readdirSync(folder).filter((file) => file.endsWith('.md'))

test.each(files.filter((file) => file !== 'README.md'))('the list of guides names %s', (file) => {
  expect(read('README.md')).toContain(`](${file})`)
})

test.each(files)('%s has no link to a port, which differs between runs', (file) => {
  expect(read(file).match(/\]\(https?:\/\/localhost:\d+[^)]*\)/g)).toBeNull()
})

describe('the guides on the reference site', () => {
  let site: Site
  beforeAll(async () => {
    site = await referenceSite(await loadSettings())
  })

  test('link only to pages of the site, and to sections that exist', () => {
    const pages = [...site].filter(([file]) => file.endsWith('.html'))
    const links = pages.flatMap(([file, page]) =>
      [...String(page).matchAll(/(?:href|src)="(?!https?:|data:)([^"#]*)#?([^"]*)"/g)].map(
        ([link, target = '', anchor = '']) => ({ from: `${file}: ${link}`, target: target || file, anchor }),
      ),
    )
    const isDead = ({ target, anchor }: (typeof links)[number]) => {
      const page = site.get(target)
      return page === undefined || (anchor !== '' && !String(page).includes(`id="${anchor}"`))
    }
    expect(links.filter(isDead).map(({ from }) => from)).toEqual([])
  })

  test('are listed in llms.txt, which leads to texts that lead to files of the site', () => {
    const linksOf = (file: string) =>
      Array.from(String(site.get(file)).matchAll(/\]\((?!https?:)([^)#]+)/g), ([, target = '']) => target)
    const texts = [...files, 'guide.md', 'errors.md']
    expect(linksOf('llms.txt').toSorted()).toEqual([...texts, 'openapi.json', 'asyncapi.json'].toSorted())
    const dead = ['llms.txt', ...texts].flatMap((file) => linksOf(file).filter((target) => !site.has(target)))
    expect(dead).toEqual([])
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

  test('can be read from an HTML page', () => {
    const html =
      '<pre tabindex="0"><code class="language-sh">echo &#34;a &amp;&#38; b&quot; &lt; c\n</code></pre>'
    expect(codeOf(html)).toBe('```sh\necho "a && b" < c\n```\n')
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
