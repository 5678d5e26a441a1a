import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stageTemplates } from '#test/infrastructure/stage-templates.ts'
import { costsPage } from './page.ts'

const root = join(import.meta.dirname, '../../..')

/** Returns the page of what the stages cost on AWS, from their templates and the figures of the benchmark. */
export async function costsOfStages(): Promise<string> {
  const stages = Object.fromEntries(
    await Promise.all(
      ['dev', 'staging', 'prod'].map(async (stage) => [stage, (await stageTemplates(stage)).stacks] as const),
    ),
  )
  return costsPage(stages, await benchmark())
}

function benchmark(): Promise<string> {
  return readFile(join(root, 'test/bench/README.md'), 'utf8')
}
