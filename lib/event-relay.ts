import { Duration, Validations } from 'aws-cdk-lib'
import type { Table } from 'aws-cdk-lib/aws-dynamodb'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import type { Subscription } from '#functions/subscriptions.ts'
import { codeOf } from './endpoint-functions.ts'
import type { FunctionCodes } from './function-entries.ts'
import { grantStreamRead, grantUses, type Resources } from './grants.ts'
import { pascalCase, serviceFunction } from './service-function.ts'
import type { Stage } from './stage.ts'

export interface StreamConsumersProps {
  stage: Stage
  codes: FunctionCodes
  resources: Resources
  subscriptions: readonly Subscription[]
}

/** A function that the table's stream feeds, with the queue for the batches that it could not handle. */
export interface StreamConsumer {
  subscription: Subscription
  handler: LambdaFunction
  deadLetters: Queue
}

/** One function for each subscription to the table's stream. */
export function streamConsumers(scope: Construct, props: StreamConsumersProps): StreamConsumer[] {
  const { stage, codes, resources, subscriptions } = props
  return subscriptions.map((subscription) => {
    const { name, uses } = subscription
    const handler = serviceFunction(scope, {
      stage,
      name,
      description: 'Publish what the table’s stream carries',
      code: codeOf(codes, name),
      timeout: Duration.seconds(30),
      environment: { EVENT_BUS_NAME: resources.bus.eventBusName },
    })
    grantUses(handler, uses, resources)
    const deadLetters = deadLetterQueue(scope, `${pascalCase(name)}DeadLetters`)
    feed(handler, resources.table, deadLetters)
    return { subscription, handler, deadLetters }
  })
}

/** Changes reach the function as they happen: no batching window, since an event is due within a second. */
function feed(handler: LambdaFunction, table: Table, deadLetters: Queue): void {
  const streamArn = table.tableStreamArn ?? ''
  grantStreamRead(handler, streamArn)
  const mapping = new EventSourceMapping(handler, 'TableStream', {
    target: handler,
    eventSourceArn: streamArn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    batchSize: 100,
    // Changes of one item keep their order whatever the number of batches at once.
    parallelizationFactor: 10,
    reportBatchItemFailures: true,
    bisectBatchOnError: true,
    // With the stream's growing pauses, long enough for a bus that is away for a while; the records live for 24 h.
    retryAttempts: 30,
    onFailure: new SqsDlq(deadLetters),
    // What carries no events (idempotency and audit records, deletions) wakes nobody.
    filters: [FilterCriteria.filter({ dynamodb: { NewImage: outboxPresent } })],
  })
  // The mapping checks its rights when it is made.
  mapping.node.addDependency(handler.role?.node.tryFindChild('DefaultPolicy') ?? handler)
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason: 'The stream invokes it through a mapping, whose on-failure destination is the dead-letter queue.',
  })
}

/** A filter sees only leaves, so the outbox is recognised by a member that it always has. */
const outboxPresent = { outbox: { M: { occurred_at: { S: FilterRule.exists() } } } }

function deadLetterQueue(scope: Construct, id: string): Queue {
  const queue = new Queue(scope, id, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  })
  const reason = 'It is a dead-letter queue itself, and an alarm tells when something lies in it.'
  Validations.of(queue).acknowledge(
    { id: 'AwsSolutions-SQS3', reason },
    { id: 'Serverless-SQSRedrivePolicy', reason },
  )
  return queue
}
