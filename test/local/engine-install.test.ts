import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { installEngine } from '#bin/local/engine-install.ts'

describe('the installation of the Python packages of the local AWS', () => {
  const folder = mkdtemp(join(tmpdir(), 'engine-install-'))
  afterAll(async () => rm(await folder, { recursive: true }))

  test('accepts only files with these hashes, and prefers built ones', async () => {
    const python = join(await folder, 'python')
    const log = join(await folder, 'calls.txt')
    // Creates the environment with itself as Python, and fails as pip.
    const script = [
      '#!/bin/sh',
      `echo "$@" >> '${log}'`,
      '[ "$2" = venv ] || exit 1',
      'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"',
    ]
    await writeFile(python, script.join('\n'))
    await chmod(python, 0o755)
    const installing = installEngine(python, new AbortController().signal)
    await expect(installing).rejects.toThrow(/Installing the local AWS/)
    const [, pip = ''] = (await readFile(log, 'utf8')).split('\n')
    expect(pip).toMatch(/^-m pip install /)
    expect(pip).toContain('--prefer-binary --require-hashes --requirement ')
    expect(pip.endsWith('/bin/local/requirements.txt')).toBe(true)
  })
})
