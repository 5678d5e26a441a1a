import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { installRequirements } from './python-package.ts'

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
