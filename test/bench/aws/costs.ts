import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { synthesise } from '#test/infrastructure/synthesis.ts'
import { costsPage } from './page.ts'

const root = join(import.meta.dirname, '../../..')

/** Returns the page of what a stage costs on AWS, from its templates and the figures of the benchmark. */
export async function costsOfProd(): Promise<string> {
  process.env.SYNTHESES = await mkdtemp(join(tmpdir(), 'commerce-costs-'))
  try {
    const { stacks } = await synthesise('prod')
    return costsPage(stacks, await readFile(join(root, 'test/bench/README.md'), 'utf8'))
  } finally {
    await rm(process.env.SYNTHESES, { recursive: true, force: true })
  }
}
