import { graceSeconds, type ImportStep, importSteps } from '#shared/imports/import-steps.ts'
import { workflowSeconds } from '#shared/operations/end-abandoned.ts'

/** Chunks at once: some ten thousand rows a second, within what a new table takes. */
const chunksAtOnce = 20
/** How often to look whether the import of the same file that was first has ended. */
const waitSeconds = 5

/** The executions of a step are limited: an import that has to wait for others takes longer, and does not fail. */
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
 * The workflow of an import in the language of Step Functions: prepare the file → its chunks, many at once → the
 * completion record; whatever fails for good ends the operation, too. Its state holds ids alone.
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
          // What a chunk came to lies in the table: the results of thousands are more than a state may hold.
          States: { Chunk: { ...task('rows'), OutputPath: null, End: true } },
        },
        ResultPath: null,
        // A redrive: chunks that are done are passed over.
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
