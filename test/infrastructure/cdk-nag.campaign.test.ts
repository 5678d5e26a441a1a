import { expect, test } from '@jest/globals'
import { inCdkProcess } from './cdk-process.ts'

test.each(['local', 'dev', 'prod'])('every finding on the stage %s has a reason', async (stage) => {
  expect(await inCdkProcess('nagFindings', stage)).toEqual([])
})

test.each(['the stack', 'Watch'] as const)('a finding in %s without a reason is reported', async (where) => {
  const findings = await inCdkProcess('nagFindings', 'dev', where)
  expect(findings.map(({ ruleName }) => ruleName)).toContain('AwsSolutions-SQS4')
})
