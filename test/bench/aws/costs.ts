/** `npm run costs`: the costs of a stage on AWS, from its templates and the figures of the benchmark, as a Markdown page. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatedFile } from '#bin/generated-file.ts'
import { synthesise } from '#test/infrastructure/synthesis.ts'
import { costsPage } from './page.ts'

const root = join(import.meta.dirname, '../../..')

async function page(): Promise<string> {
  process.env.SYNTHESES = await mkdtemp(join(tmpdir(), 'commerce-costs-'))
  try {
    const { stacks } = await synthesise('prod')
    return costsPage(stacks, await readFile(join(root, 'test/bench/README.md'), 'utf8'))
  } finally {
    await rm(process.env.SYNTHESES, { recursive: true, force: true })
  }
}

if (import.meta.main) await generatedFile('costs', 'docs/costs.md', page)
