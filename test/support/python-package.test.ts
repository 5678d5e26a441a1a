import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { installRequirements, requirementsFolder } from './python-package.ts'

const tools = (await readdir(requirementsFolder)).flatMap((file) => /^(.+)\.txt$/.exec(file)?.[1] ?? [])

/** Returns the lines without comments: one for each package. */
async function requirementsIn(file: string): Promise<string[]> {
  const text = await readFile(join(requirementsFolder, file), 'utf8')
  const lines = text.replaceAll('\\\n', '').split('\n')
  return lines.filter((line) => line !== '' && !line.startsWith('#'))
}

test('there are tools', () => {
  expect(tools).toContain('uv')
})

test.each(tools)('the packages of %s have one version each, and the hashes of its files', async (tool) => {
  const pinned = /^[\w.-]+==[\w.]+( ; [^;]+?)?( +--hash=sha256:[0-9a-f]{64})+$/
  const requirements = await requirementsIn(`${tool}.txt`)
  expect(requirements.filter((line) => !pinned.test(line))).toEqual([])
  const versions = requirements.map((line) => line.split(' ')[0])
  const wanted = (await requirementsIn(`${tool}.in`)).map((line) => line.replace(/\[.*\]/, ''))
  expect(versions).toEqual(expect.arrayContaining(wanted))
})

test.each(tools)('the packages of %s name no host, so each machine uses its own index', async (tool) => {
  const text = await readFile(join(requirementsFolder, `${tool}.txt`), 'utf8')
  expect(text).not.toMatch(/:\/\/|--(extra-)?index-url|--default-index|--find-links|--trusted-host/)
})

test('the guide installs the versions of generators that the tests use', async () => {
  const guide = await readFile(join(import.meta.dirname, '../../bin/describe/reference/guide.md'), 'utf8')
  const installed = Array.from(guide.matchAll(/^pip install (\S+)$/gm), ([, wanted = '']) => wanted)
  expect(installed.length).toBeGreaterThan(1)
  for (const wanted of installed) {
    expect(await requirementsIn(`${wanted.split('==')[0]}.in`)).toContain(wanted)
  }
})

test('a file with another hash is not installed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'python-package-'))
  try {
    const wheel = join(folder, 'sample-1.0-py3-none-any.whl')
    await writeFile(wheel, 'replaced')
    const file = join(folder, 'sample.txt')
    await writeFile(file, `${wheel} --hash=sha256:${'0'.repeat(64)}\n`)
    const installing = installRequirements(file, join(folder, 'venv'))
    await expect(installing).rejects.toThrow(/DO NOT MATCH THE HASHES/)
  } finally {
    await rm(folder, { recursive: true })
  }
})
