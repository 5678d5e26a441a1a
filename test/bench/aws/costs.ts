import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stageTemplates } from '#test/infrastructure/stage-templates.ts'
import { costsPage } from './page.ts'

const root = join(import.meta.dirname, '../../..')

/** Returns the page of what a stage costs on AWS, from its templates and the figures of the benchmark. */
export async function costsOfProd(): Promise<string> {
  const { stacks } = await stageTemplates('prod')
  return costsPage(stacks, await readFile(join(root, 'test/bench/README.md'), 'utf8'))
}
