import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cfnLint } from './cfn-lint.ts'
import { behindDomain, moreInEachArea } from './stage-settings.ts'
import { synthesize } from './synthesis.ts'

const scratch = await mkdtemp(join(tmpdir(), 'commerce-templates-'))
afterAll(() => rm(scratch, { recursive: true, force: true }))

async function written(name: string, template: object): Promise<string> {
  // Nested stacks are named by their paths.
  const file = join(scratch, `${name.replaceAll('/', '-')}.json`)
  await writeFile(file, JSON.stringify(template))
  return file
}

const invalid = {
  Resources: { Queue: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 'long' } } },
}

/** Of all templates in one run, because loading the program takes as long as checking a stack. */
let findings: string[]
beforeAll(async () => {
  const files = [written('invalid', invalid)]
  for (const stage of ['dev', 'prod']) {
    const { stacks } = await synthesize(stage, { changes: behindDomain, moreRoutes: moreInEachArea })
    for (const [name, template] of Object.entries(stacks)) files.push(written(`${stage}-${name}`, template))
  }
  findings = await cfnLint(await Promise.all(files))
}, 1_800_000)

const isOfInvalid = (finding: string) => finding.includes('invalid.json:')

test('the templates of the stages on AWS have no findings', () => {
  expect(findings.filter((finding) => !isOfInvalid(finding))).toEqual([])
})

test('an invalid template has findings', () => {
  expect(findings.filter(isOfInvalid)).toEqual([expect.stringContaining('E3012')])
})
