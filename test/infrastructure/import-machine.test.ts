import { describe, expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { pascalCase } from '#lib/function-entries.ts'
import { importSteps } from '#shared/imports/import-steps.ts'
import { importStates, stepOf } from '#test/imports/import-states.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template, watch } = await synthesise('prod')
const [[machineId, machine]] = resourcesOf(template, 'AWS::StepFunctions::StateMachine') as [
  [string, Resource],
]
const { States: states, TimeoutSeconds } = importStates()
const limit = localSettings['imports.timeoutSeconds']
// biome-ignore lint/suspicious/noExplicitAny: states have any shape
const all: Record<string, any> = { ...states, Chunk: states.Rows.ItemProcessor.States.Chunk }

describe('the import workflow', () => {
  test('is traced, logs no data and times out as set', () => {
    expect(machine.Properties).toMatchObject({
      StateMachineName: 'commerce-prod-imports',
      TracingConfiguration: { Enabled: true },
      LoggingConfiguration: { Level: 'ALL', IncludeExecutionData: false },
    })
    expect(TimeoutSeconds).toBe(limit)
  })

  test('is deployed as defined, with its functions and its bucket', () => {
    const text = machine.Properties.DefinitionString['Fn::Join'][1]
      .map((part: string | { Ref?: string }) => (typeof part === 'string' ? part : JSON.stringify(part)))
      .join('')
    for (const { name, step } of steps) {
      const [aliasId] = resourcesOf(template, 'AWS::Lambda::Alias').find(
        ([id]) => id.replace(/[0-9A-F]{8}$/, '') === `${pascalCase(name)}Live`,
      ) as [string, Resource]
      expect(text).toContain(`{"Ref":"${aliasId}"}`)
      expect(Object.values(all).some(({ Resource: of = '' }) => stepOf(of) === step)).toBe(true)
    }
    expect(text).toMatch(/^{"StartAt":"Prepare",/)
    expect(text.endsWith(`"TimeoutSeconds":${limit}}`)).toBe(true)
    for (const name of Object.keys(all)) expect(text).toContain(`"${name}":`)
  })

  test('retries each step within its timeout, and catches its failure', () => {
    for (const [name, state] of Object.entries(all).filter(([, { Type }]) => Type === 'Task')) {
      expect(state.Retry).toMatchObject([
        { ErrorEquals: ['Lambda.TooManyRequestsException'], MaxAttempts: 100_000 },
        { ErrorEquals: ['States.ALL'], MaxAttempts: 5, JitterStrategy: 'FULL' },
      ])
      const step = importSteps[stepOf(state.Resource)]
      expect(state.TimeoutSeconds).toBeGreaterThan(step.seconds)
      if (name === 'Chunk' || name === 'Fail') continue
      expect(state.Catch).toEqual([{ ErrorEquals: ['States.ALL'], ResultPath: '$.fault', Next: 'Fail' }])
    }
    expect(all.Rows).toMatchObject({ Retry: [{ MaxAttempts: 2 }], Catch: [{ Next: 'Fail' }] })
  })

  test('runs the chunks of the manifest in parallel, and discards their results', () => {
    expect(all.Rows).toMatchObject({
      MaxConcurrency: 5,
      ItemReader: { ReaderConfig: { InputType: 'JSON' } },
      ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' } },
      ResultPath: null,
    })
    expect(JSON.stringify(all.Rows.ItemReader.Resource)).toContain(':states:::s3:getObject"')
    const { States: ofChunk } = all.Rows.ItemProcessor
    const ends = Object.values<{ Type: string; OutputPath: null }>(ofChunk).filter(
      ({ Type }) => Type === 'Succeed',
    )
    expect(ends.map(({ OutputPath }) => OutputPath)).toEqual([null])
  })

  test('can invoke its steps, read manifests and run its own map, and nothing else of the service', () => {
    const { PolicyDocument: policy } = resourceNamed(
      template,
      'AWS::IAM::Policy',
      'ImportMachineRoleDefaultPolicy',
    ).Properties as { PolicyDocument: { Statement: { Action: string | string[]; Resource: unknown }[] } }
    const byAction = Object.fromEntries(
      policy.Statement.flatMap(({ Action, Resource: on }) => [Action].flat().map((action) => [action, on])),
    )
    const functions = (byAction['lambda:InvokeFunction'] as { Ref: string }[]).map((one) =>
      referenceOf(one).replace(/[0-9A-F]{8}$/, ''),
    )
    expect(functions.sort()).toEqual(steps.map(({ name }) => `${pascalCase(name)}Live`).sort())
    expect(JSON.stringify(byAction['s3:GetObject'])).toContain('/imports/*')
    expect(JSON.stringify(byAction['states:StartExecution'])).toContain(
      ':stateMachine:commerce-prod-imports"',
    )
    for (const action of ['states:DescribeExecution', 'states:StopExecution']) {
      expect(JSON.stringify(byAction[action])).toContain(':execution:commerce-prod-imports/Rows:*"')
      expect(JSON.stringify(byAction[action])).toContain(':execution:commerce-prod-imports:*"')
    }
    const others = Object.keys(byAction).filter((action) => !/^(logs|xray|kms):/.test(action))
    expect(others.sort()).toEqual([
      'lambda:InvokeFunction',
      's3:GetObject',
      'states:DescribeExecution',
      'states:StartExecution',
      'states:StopExecution',
    ])
  })

  test('raises an alarm if it fails', () => {
    const alarm = resourceNamed(watch, 'AWS::CloudWatch::Alarm', 'ImportMachineFailingAlarm')
    const metrics = JSON.stringify(alarm.Properties.Metrics)
    for (const metric of ['ExecutionsFailed', 'ExecutionsTimedOut', 'ExecutionsAborted']) {
      expect(metrics).toContain(metric)
    }
    const [parameter = ''] = metrics.match(/referencetocommerceprodImportMachine[0-9A-F]{8}Ref/) ?? []
    const stacks = resourcesOf(template, 'AWS::CloudFormation::Stack')
    const within = stacks.find(([id]) => id.startsWith('Watch'))?.[1] as Resource
    expect(within.Properties.Parameters[parameter]).toEqual({ Ref: machineId })
  })
})
