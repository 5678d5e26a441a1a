import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stageTemplates } from '#test/infrastructure/stage-templates.ts'
import { cellsPage } from './cells-page.ts'
import { costsPage } from './page.ts'

const root = join(import.meta.dirname, '../../..')

/** Returns the page of what a stage costs on AWS, from its templates and the figures of the benchmark. */
export async function costsOfProd(): Promise<string> {
  const { stacks } = await stageTemplates('prod')
  return costsPage(stacks, await benchmark())
}

/** Returns the page on cells, from the figures of the benchmark. */
export async function cellsOfBenchmark(): Promise<string> {
  return cellsPage(await benchmark())
}

function benchmark(): Promise<string> {
  return readFile(join(root, 'test/bench/README.md'), 'utf8')
}
