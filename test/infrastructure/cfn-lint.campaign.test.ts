import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { cfnLint } from './cfn-lint.ts'
import { behindDomain } from './stage-settings.ts'
import { synthesise } from './synthesis.ts'

const scratch = await mkdtemp(join(tmpdir(), 'commerce-templates-'))
afterAll(() => rm(scratch, { recursive: true, force: true }))

async function written(name: string, template: object): Promise<string> {
  // Nested stacks are named by their paths.
  const file = join(scratch, `${name.replaceAll('/', '-')}.json`)
  await writeFile(file, JSON.stringify(template))
  return file
}

test('the templates of the stages on AWS have no findings', async () => {
  const stages = ['dev', 'prod']
  const templates = stages.map(async (stage) => {
    const { stacks } = await synthesise(stage, { changes: behindDomain })
    const all = Object.entries(stacks)
    return Promise.all(all.map(([name, template]) => written(`${stage}-${name}`, template)))
  })
  expect(await cfnLint((await Promise.all(templates)).flat())).toEqual([])
}, 1_800_000)

test('an invalid template has findings', async () => {
  const Resources = { Queue: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 'long' } } }
  const findings = await cfnLint([await written('wrong', { Resources })])
  expect(findings).toEqual([expect.stringMatching(/wrong\.json:.*E3012/)])
}, 1_800_000)
