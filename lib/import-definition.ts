import { graceSeconds, type ImportStep, importSteps } from '#shared/imports/import-steps.ts'
import { workflowSeconds } from '#shared/operations/end-abandoned.ts'

/** Chunks at once: about ten thousand rows a second, within the capacity of a new table. */
const chunksAtOnce = 20
/** The polling interval while an earlier import of the same file is running. */
const waitSeconds = 5

/** The functions of steps have reserved concurrency. A throttled import takes longer but does not fail. */
const whenThrottled = {
  ErrorEquals: ['Lambda.TooManyRequestsException'],
  IntervalSeconds: 1,
  MaxAttempts: 60,
  BackoffRate: 1.5,
  MaxDelaySeconds: 5,
  JitterStrategy: 'FULL',
}

const again = {
  ErrorEquals: ['States.ALL'],
  IntervalSeconds: 1,
  MaxAttempts: 5,
  BackoffRate: 2,
  MaxDelaySeconds: 30,
  JitterStrategy: 'FULL',
}

/**
 * Returns the import workflow in Amazon States Language: prepare the file → process its chunks in parallel → write the
 * completion record. A permanent failure also ends the operation. The state holds only ids.
 */
export function importDefinition(functionArns: Readonly<Record<ImportStep, string>>, bucket: string) {
  const task = (step: ImportStep) => ({
    Type: 'Task',
    Resource: functionArns[step],
    TimeoutSeconds: importSteps[step].seconds + 2 * graceSeconds,
    Retry: [whenThrottled, again],
  })
  const otherwiseFail = { Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.fault', Next: 'Fail' }] }
  const isNext = (name: string, Next: string) => ({
    Variable: '$.prepared.next',
    StringEquals: name,
    Next,
  })
  return {
    Comment: 'Imports a file of customers',
    TimeoutSeconds: workflowSeconds,
    StartAt: 'Prepare',
    States: {
      Prepare: { ...task('prepare'), ...otherwiseFail, ResultPath: '$.prepared', Next: 'What next' },
      'What next': {
        Type: 'Choice',
        Choices: [
          isNext('rows', 'Rows'),
          isNext('complete', 'Complete'),
          isNext('wait', 'Wait for the first'),
        ],
        Default: 'Ended',
      },
      'Wait for the first': { Type: 'Wait', Seconds: waitSeconds, Next: 'Prepare' },
      Rows: {
        Type: 'Map',
        Label: 'Rows',
        MaxConcurrency: chunksAtOnce,
        ItemReader: {
          Resource: 'arn:aws:states:::s3:getObject',
          ReaderConfig: { InputType: 'JSON' },
          Parameters: { Bucket: bucket, 'Key.$': '$.prepared.manifest' },
        },
        ItemSelector: {
          'tenant.$': '$.tenant',
          'operation_id.$': '$.operation_id',
          'chunk.$': '$$.Map.Item.Value',
        },
        ItemProcessor: {
          ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'EXPRESS' },
          StartAt: 'Chunk',
          // The table stores the result of each chunk: thousands of results exceed the size limit of a state.
          States: { Chunk: { ...task('rows'), OutputPath: null, End: true } },
        },
        ResultPath: null,
        // On a retry, completed chunks are skipped.
        Retry: [{ ...again, IntervalSeconds: 10, MaxAttempts: 2 }],
        ...otherwiseFail,
        Next: 'Complete',
      },
      Complete: { ...task('complete'), ...otherwiseFail, End: true },
      Fail: { ...task('fail'), End: true },
      Ended: { Type: 'Succeed' },
    },
  }
}
