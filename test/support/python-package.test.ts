import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { requirementsFolder } from './python-package.ts'

/** The packages of the tools of the tests, and of the local AWS. */
const files = [
  ...(await readdir(requirementsFolder))
    .filter((file) => file.endsWith('.txt'))
    .map((file) => join(requirementsFolder, file)),
  join(import.meta.dirname, '../../bin/local/requirements.txt'),
]

/** Returns the lines without comments: one for each package. */
async function requirementsIn(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).replaceAll('\\\n', '').split('\n')
  return lines.filter((line) => line !== '' && !line.startsWith('#'))
}

test('there are tools', () => {
  expect(files).toContain(join(requirementsFolder, 'uv.txt'))
})

describe.each(files)('the packages of %s', (file) => {
  test('have one version each, and the hashes of its files', async () => {
    const pinned = /^[\w.-]+==[\w.]+( ; [^;]+?)?( +--hash=sha256:[0-9a-f]{64})+$/
    const requirements = await requirementsIn(file)
    expect(requirements.filter((line) => !pinned.test(line))).toEqual([])
    expect(requirements.length).toBeGreaterThan(0)
  })

  test('name no host, so each machine uses its own index', async () => {
    expect(await readFile(file, 'utf8')).not.toMatch(
      /:\/\/|--(extra-)?index-url|--default-index|--find-links|--trusted-host/,
    )
  })
})

const tools = files.slice(0, -1).map((file) => file.replace(/\.txt$/, ''))
test.each(tools)('the packages of %s contain those that it names', async (tool) => {
  const versions = (await requirementsIn(`${tool}.txt`)).map((line) => line.split(' ')[0])
  const wanted = (await requirementsIn(`${tool}.in`)).map((line) => line.replace(/\[.*\]/, ''))
  expect(versions).toEqual(expect.arrayContaining(wanted))
})

test('the guide installs the versions of generators that the tests use', async () => {
  const guide = await readFile(join(import.meta.dirname, '../../bin/describe/reference/guide.md'), 'utf8')
  const installed = Array.from(guide.matchAll(/^pip install (\S+)$/gm), ([, wanted = '']) => wanted)
  expect(installed.length).toBeGreaterThan(1)
  for (const wanted of installed) {
    const file = join(requirementsFolder, `${wanted.split('==')[0]}.in`)
    expect(await requirementsIn(file)).toContain(wanted)
  }
})
