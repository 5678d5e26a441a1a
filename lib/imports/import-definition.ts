import { Duration } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import * as sfn from 'aws-cdk-lib/aws-stepfunctions'
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks'
import { Construct } from 'constructs'
import { chunksAtOnce, graceSeconds, type ImportStep, importSteps } from '#shared/imports/import.ts'
import { importTimeoutSeconds } from '#shared/operations/end-abandoned.ts'

/**
 * The polling interval while an earlier import of the same file runs, and of a chunk while others write first. The history of a
 * run holds 25,000 events, nine for each poll: more than the time limit of the workflow needs.
 */
const pollSeconds = 30

/**
 * The functions of steps have reserved concurrency. A throttled import takes longer but does not fail: only the time limit
 * of the workflow ends it.
 */
const whenThrottled: sfn.RetryProps = {
  errors: ['Lambda.TooManyRequestsException'],
  interval: Duration.seconds(1),
  maxAttempts: 100_000,
  backoffRate: 1.5,
  maxDelay: Duration.seconds(30),
  jitterStrategy: sfn.JitterType.FULL,
}

const again: sfn.RetryProps = {
  errors: ['States.ALL'],
  interval: Duration.seconds(1),
  maxAttempts: 5,
  backoffRate: 2,
  maxDelay: Duration.seconds(30),
  jitterStrategy: sfn.JitterType.FULL,
}

/**
 * Returns the import workflow: prepare the file → import the rows of its chunks in parallel → end. If a step fails for good,
 * the operation ends as failed. The state holds ids, and the offsets of the chunks.
 */
export function importDefinition(
  scope: Construct,
  functions: Readonly<Record<ImportStep, IFunction>>,
): sfn.StateGraph {
  const states = new Construct(scope, 'ImportDefinition')
  const task = (id: string, step: ImportStep, resultPath: string) => {
    // A function ends itself after its time and `graceSeconds`; the workflow waits longer for its answer.
    const taskTimeout = sfn.Timeout.duration(Duration.seconds(importSteps[step].seconds + 2 * graceSeconds))
    // Without the payload alone, a result would carry the metadata of the call. Service errors are in `again`.
    const options = { payloadResponseOnly: true, retryOnServiceExceptions: false, taskTimeout, resultPath }
    const invoke = LambdaInvoke.jsonPath(states, id, { lambdaFunction: functions[step], ...options })
    return invoke.addRetry(whenThrottled).addRetry(again)
  }
  const choice = (id: string) => new sfn.Choice(states, id)
  const isNext = (name: string) => sfn.Condition.stringEquals('$.result.next', name)
  const wait = (id: string) =>
    new sfn.Wait(states, id, { time: sfn.WaitTime.duration(Duration.seconds(pollSeconds)) })

  const prepare = task('Prepare', 'prepare', '$.result')
  const importRows = task('ImportRows', 'rows', '$.result')
  const rows = sfn.DistributedMap.jsonPath(states, 'Rows', {
    label: 'Rows',
    // An express run ends after five minutes, however long its chunk has to wait.
    mapExecutionType: sfn.StateMachineType.STANDARD,
    maxConcurrency: chunksAtOnce,
    itemsPath: '$.result.chunks',
    itemSelector: {
      tenant: sfn.JsonPath.stringAt('$.tenant'),
      operation_id: sfn.JsonPath.stringAt('$.operation_id'),
      chunk: sfn.JsonPath.objectAt('$$.Map.Item.Value'),
    },
    resultPath: sfn.JsonPath.DISCARD,
  })
  const end = task('End', 'end', sfn.JsonPath.DISCARD)
  const endFailed = task('EndFailed', 'end', sfn.JsonPath.DISCARD)

  prepare.next(
    choice('IsPrepared')
      .when(isNext('wait'), wait('WaitForSameFile').next(prepare))
      .when(isNext('rows'), rows)
      .otherwise(end),
  )
  rows.itemProcessor(
    importRows.next(
      choice('IsImported')
        .when(isNext('wait'), wait('WaitForWriteRate').next(importRows))
        // The table stores the result of each chunk: thousands of results exceed the size limit of a state.
        .otherwise(new sfn.Succeed(states, 'Imported', { outputPath: sfn.JsonPath.DISCARD })),
    ),
  )
  // On a retry, chunks that are done are skipped.
  rows.addRetry({ ...again, interval: Duration.seconds(10), maxAttempts: 2 })
  rows.next(end)
  for (const state of [prepare, rows, end]) state.addCatch(endFailed, { resultPath: '$.fault' })

  const graph = new sfn.StateGraph(prepare, 'the import of a file')
  graph.timeout = Duration.seconds(importTimeoutSeconds)
  return graph
}
