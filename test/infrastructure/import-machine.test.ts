import { describe, expect, test } from '@jest/globals'
import { steps } from '#functions/steps.ts'
import { pascalCase } from '#lib/functions/function-names.ts'
import { chunksAtOnce, importSteps } from '#shared/imports/import.ts'
import { importTimeoutSeconds } from '#shared/operations/end-abandoned.ts'
import { propertiesOf, templatesOf } from './synthesis.ts'

const { template } = await templatesOf('prod')
const { States: states, TimeoutSeconds } = JSON.parse(
  propertiesOf(template, 'ImportMachine').DefinitionString,
)
const { Rows: rows } = states
const { States: ofChunk } = rows.ItemProcessor
// biome-ignore lint/suspicious/noExplicitAny: states have any shape
const tasks: [string, any][] = Object.entries<any>({ ...states, ...ofChunk }).filter(
  ([, { Type }]) => Type === 'Task',
)

describe('the import workflow', () => {
  test('times out as set', () => {
    expect(TimeoutSeconds).toBe(importTimeoutSeconds)
  })

  test.each(steps)('runs $name within its timeout, and retries it', ({ name, step }) => {
    const [task] = tasks.flatMap(([, one]) => (one.Resource === `<${pascalCase(name)}Live>` ? [one] : []))
    expect(task.TimeoutSeconds).toBeGreaterThan(importSteps[step].seconds)
    expect(task.Retry).toMatchObject([
      { ErrorEquals: ['Lambda.TooManyRequestsException'], MaxAttempts: 100_000 },
      { ErrorEquals: ['States.ALL'], MaxAttempts: 5, JitterStrategy: 'FULL' },
    ])
  })

  const caught = tasks.filter(([name]) => name !== 'ImportRows' && name !== 'EndFailed')
  test.each([...caught, ['Rows', rows]])('ends as failed if %s fails', (_, state) => {
    expect(state.Catch).toEqual([{ ErrorEquals: ['States.ALL'], ResultPath: '$.fault', Next: 'EndFailed' }])
  })

  test('runs the chunks of the file in parallel, and discards their results', () => {
    expect(rows).toMatchObject({
      MaxConcurrency: chunksAtOnce,
      ItemsPath: '$.result.chunks',
      ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' } },
      ResultPath: null,
      Retry: [{ MaxAttempts: 2 }],
    })
    expect(ofChunk.Imported).toEqual({ Type: 'Succeed', OutputPath: null })
  })

  test.each(['WaitForSameFile', 'WaitForWriteRate'])('times out before %s has filled its history', (name) => {
    const { Seconds } = { ...states, ...ofChunk }[name]
    const [eventsOfHistory, eventsOfPoll] = [25_000, 9]
    expect((TimeoutSeconds / Seconds) * eventsOfPoll).toBeLessThan(eventsOfHistory)
  })

  const machine = (kind: string, end: string) =>
    `arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:${kind}:commerce-prod-imports${end}`
  const { Statement: statements } = propertiesOf(template, 'ImportMachineRoleDefaultPolicy').PolicyDocument
  const granted = new Map<string, unknown>(
    statements.flatMap(({ Action, Resource: on }: Record<string, string | string[]>) =>
      [Action ?? []].flat().map((action) => [action, on]),
    ),
  )
  const runs = [machine('execution', '/Rows:*'), machine('execution', ':*')]
  const rights: Record<string, unknown> = {
    'lambda:InvokeFunction': steps.map(({ name }) => `<${pascalCase(name)}Live>`).toSorted(),
    'states:DescribeExecution': runs,
    'states:StartExecution': machine('stateMachine', ''),
    'states:StopExecution': runs,
  }

  test.each(Object.entries(rights))('may call %s for its own steps and runs only', (action, on) => {
    expect(granted.get(action)).toEqual(on)
  })

  test('may call nothing else of the service', () => {
    const others = [...granted.keys()].filter((action) => !/^(logs|xray|kms):/.test(action))
    expect(others.sort()).toEqual(Object.keys(rights))
  })
})
