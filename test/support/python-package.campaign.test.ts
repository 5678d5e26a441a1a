import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { checkout } from '../end-to-end/checkout.ts'
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

test('a tool that a checkout installs outlives it', async () => {
  const here = checkout()
  try {
    const program = `import { pythonPackage } from './test/support/python-package.ts'
      console.log(await pythonPackage('uv'))`
    here.write('install.mjs', program)
    const { stdout } = await here.shell('node install.mjs')
    expect(stdout).toContain(join(import.meta.dirname, '../../node_modules/.cache'))
  } finally {
    await here.remove()
  }
})
