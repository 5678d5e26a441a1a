import { Duration } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Bucket, IBucket } from 'aws-cdk-lib/aws-s3'
import * as sfn from 'aws-cdk-lib/aws-stepfunctions'
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks'
import { Construct } from 'constructs'
import { chunksAtOnce, graceSeconds, type ImportStep, importSteps } from '#shared/imports/import-steps.ts'
import { importTimeoutSeconds } from '#shared/operations/end-abandoned.ts'

/** The polling interval while an earlier import of the same file is running. */
const waitSeconds = 5

/**
 * The polling interval of a chunk while others go first. The history of a run holds 25,000 events, about ten for each
 * poll: more than the time limit of the workflow needs.
 */
const turnSeconds = 30

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

interface ImportDefinitionProps {
  functions: Readonly<Record<ImportStep, IFunction>>
  bucket: Bucket | IBucket
}

/**
 * Returns the import workflow: prepare the file → process its chunks in parallel → write the completion record. A
 * permanent failure also ends the operation. The state holds only ids.
 */
export function importDefinition(
  scope: Construct,
  { functions, bucket }: ImportDefinitionProps,
): sfn.StateGraph {
  const states = new Construct(scope, 'ImportDefinition')
  const task = (id: string, step: ImportStep, paths: { resultPath?: string } = {}) => {
    const taskTimeout = sfn.Timeout.duration(Duration.seconds(importSteps[step].seconds + 2 * graceSeconds))
    // Without the payload alone, a result would carry the metadata of the call. Service errors are in `again`.
    const options = { payloadResponseOnly: true, retryOnServiceExceptions: false, taskTimeout, ...paths }
    const invoke = LambdaInvoke.jsonPath(states, id, { lambdaFunction: functions[step], ...options })
    return invoke.addRetry(whenThrottled).addRetry(again)
  }
  const wait = (id: string, seconds: number) =>
    new sfn.Wait(states, id, { time: sfn.WaitTime.duration(Duration.seconds(seconds)) })
  const fail = task('Fail', 'fail')
  const onFailure = { resultPath: '$.fault' }
  const complete = task('Complete', 'complete').addCatch(fail, onFailure)
  const chunk = task('Chunk', 'rows', { resultPath: '$.result' })
  const turn = new sfn.Choice(states, 'Is its turn')
    .when(
      sfn.Condition.stringEquals('$.result.next', 'wait'),
      wait('Wait for a turn', turnSeconds).next(chunk),
    )
    // The table stores the result of each chunk: thousands of results exceed the size limit of a state.
    .otherwise(new sfn.Succeed(states, 'Chunk ended', { outputPath: sfn.JsonPath.DISCARD }))
  const rows = sfn.DistributedMap.jsonPath(states, 'Rows', {
    label: 'Rows',
    // An express run ends after five minutes, however long its chunk has to wait.
    mapExecutionType: sfn.StateMachineType.STANDARD,
    maxConcurrency: chunksAtOnce,
    itemReader: new sfn.S3JsonItemReader({
      bucket: bucket as IBucket,
      key: sfn.JsonPath.stringAt('$.prepared.manifest'),
    }),
    itemSelector: {
      tenant: sfn.JsonPath.stringAt('$.tenant'),
      operation_id: sfn.JsonPath.stringAt('$.operation_id'),
      chunk: sfn.JsonPath.objectAt('$$.Map.Item.Value'),
    },
    resultPath: sfn.JsonPath.DISCARD,
  })
    .itemProcessor(chunk.next(turn))
    // On a retry, completed chunks are skipped.
    .addRetry({ ...again, interval: Duration.seconds(10), maxAttempts: 2 })
    .addCatch(fail, onFailure)
  rows.next(complete)
  const prepare = task('Prepare', 'prepare', { resultPath: '$.prepared' }).addCatch(fail, onFailure)
  const isNext = (name: string) => sfn.Condition.stringEquals('$.prepared.next', name)
  const next = new sfn.Choice(states, 'What next')
    .when(isNext('rows'), rows)
    .when(isNext('complete'), complete)
    .when(isNext('wait'), wait('Wait for the first', waitSeconds).next(prepare))
    .otherwise(new sfn.Succeed(states, 'Ended'))
  prepare.next(next)
  const graph = new sfn.StateGraph(prepare, 'the import of a file')
  graph.timeout = Duration.seconds(importTimeoutSeconds)
  return graph
}
