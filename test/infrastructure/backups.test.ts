import { expect, test } from '@jest/globals'
import { referenceOf, resourcesOf, synthesise } from './synthesis.ts'

const { template } = await synthesise('prod')

test('on prod the table is copied each night and each week, into a vault that survives the stack', () => {
  const [[, plan] = [], ...others] = resourcesOf(template, 'AWS::Backup::BackupPlan')
  expect(others).toEqual([])
  expect(plan?.Properties.BackupPlan.BackupPlanRule).toMatchObject([
    { RuleName: 'nightly', ScheduleExpression: 'cron(0 3 * * ? *)', Lifecycle: { DeleteAfterDays: 7 } },
    { RuleName: 'weekly', ScheduleExpression: 'cron(0 3 ? * SUN *)', Lifecycle: { DeleteAfterDays: 35 } },
  ])
  const [[table] = []] = resourcesOf(template, 'AWS::DynamoDB::Table')
  const [[, selection] = []] = resourcesOf(template, 'AWS::Backup::BackupSelection')
  const copied = selection?.Properties.BackupSelection.Resources
  expect(copied.flatMap((one: object) => JSON.stringify(one))).toEqual([
    expect.stringContaining(String(table)),
  ])
  expect(
    resourcesOf(template, 'AWS::Backup::BackupVault').map(([, { DeletionPolicy }]) => DeletionPolicy),
  ).toEqual(['RetainExceptOnCreate'])
  expect(referenceOf(selection?.Properties.BackupPlanId)).toMatch(/^Backups/)
})
