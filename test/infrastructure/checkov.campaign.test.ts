import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { checkov, type Finding } from './checkov.ts'
import { exceptions, excepts } from './checkov-exceptions.ts'
import { synthesize } from './synthesis.ts'

/** A public bucket, which no stage has. */
const careless = {
  Resources: {
    Bucket: { Type: 'AWS::S3::Bucket', Properties: { AccessControl: 'PublicRead' } },
  },
}

const folder = await mkdtemp(join(tmpdir(), 'commerce-checkov-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

let findings: Finding[]
beforeAll(async () => {
  const write = (name: string, template: object) =>
    writeFileSync(join(folder, `${name.replaceAll('/', '-')}.json`), JSON.stringify(template, null, 1))
  // Staging differs from prod only in its size.
  for (const stage of ['dev', 'prod']) {
    const { stacks } = await synthesize(stage)
    for (const [name, template] of Object.entries(stacks)) write(`${stage}-${name}`, template)
  }
  write('careless', careless)
  findings = await checkov(folder)
}, 600_000)

const isOfStage = ({ template }: Finding) => template !== 'careless'

test('every finding in the templates of the stages on AWS has a reason', () => {
  const unexplained = findings.filter(isOfStage).filter((one) => !exceptions.some((it) => excepts(it, one)))
  expect(unexplained).toEqual([])
})

test.each(exceptions)('the exception $check still has findings', (exception) => {
  expect(findings.filter(isOfStage).some((finding) => excepts(exception, finding))).toBe(true)
})

test('an insecure template has findings', () => {
  const checks = findings.filter(({ template }) => template === 'careless').map(({ check }) => check)
  expect(checks).toContain('CKV_AWS_20')
})
