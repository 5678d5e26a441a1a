import { serviceError } from '#test/simulation/memory-store.ts'

/** A response as bytes on the connection. */
export interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Buffer
}

/** Failures that DynamoDB returns. */
export type Failure =
  | 'throttle'
  | 'conflict'
  | 'conflict-and-refusal'
  | 'in-progress'
  | 'internal'
  | 'unavailable'
  /** Of a stream: the requested records are older than its retention. */
  | 'trimmed'

interface Failed {
  readonly status: number
  readonly type: string
  readonly content: Readonly<Record<string, unknown>>
}

const singleWrites = ['PutItem', 'UpdateItem', 'DeleteItem']
const streamReads = ['GetShardIterator', 'GetRecords']

/** Returns the failure in DynamoDB's format. Throws if DynamoDB cannot return it for this operation. */
export function failureAnswer(failure: Failure, operation: string, body: unknown): Answer {
  return answerOf(failureOf(failure, operation, body))
}

/** Returns an error of the table in memory in DynamoDB's format. */
export function errorAnswer({ name, message, ...content }: Error): Answer {
  return answerOf({ status: 400, type: name, content: { message, ...content } })
}

function answerOf({ status, type, content }: Failed): Answer {
  return {
    status,
    // Without x-amz-crc32, which clients verify only if it is present.
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': crypto.randomUUID() },
    body: Buffer.from(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, ...content })),
  }
}

/** Returns the failure as the SDK throws it. Throws if DynamoDB cannot return it for this operation. */
export function failureError(failure: Failure, operation: string, body: unknown): Error {
  const { status, type, content } = failureOf(failure, operation, body)
  return serviceError(type, { ...content, $metadata: { httpStatusCode: status } })
}

function failureOf(failure: Failure, operation: string, body: unknown): Failed {
  switch (failure) {
    case 'throttle':
      return refused('ProvisionedThroughputExceededException', {
        message:
          'The level of configured provisioned throughput for the table was exceeded. ' +
          'Consider increasing your provisioning level with the UpdateTable API.',
      })
    case 'conflict':
      return singleWrites.includes(operation)
        ? refused('TransactionConflictException', { message: 'Transaction is ongoing for the item' })
        : canceled(operation, body, 'None')
    case 'conflict-and-refusal':
      return canceled(operation, body, 'ConditionalCheckFailed')
    case 'in-progress':
      if (operation !== 'TransactWriteItems') throw impossible(failure, operation)
      return refused('TransactionInProgressException', {
        Message: 'Transaction with the given client request token is already in progress.',
      })
    case 'trimmed':
      if (!streamReads.includes(operation)) throw impossible(failure, operation)
      return refused('TrimmedDataAccessException', { message: 'The data was trimmed' })
    case 'internal':
      return { status: 500, type: 'InternalServerError', content: { message: 'Internal server error' } }
    case 'unavailable':
      return {
        status: 503,
        type: 'ServiceUnavailable',
        content: { message: 'The service is currently unavailable or busy.' },
      }
  }
}

const refused = (type: string, content: Failed['content']): Failed => ({ status: 400, type, content })

const reasons = {
  None: {},
  TransactionConflict: { Message: 'Transaction is ongoing for the item' },
  ConditionalCheckFailed: { Message: 'The conditional request failed' },
}

/** A reason for each item in the order of the request: the first has a conflict. */
function canceled(operation: string, body: unknown, ofOthers: keyof typeof reasons): Failed {
  const items = transactItems(body)
  if (!items) throw impossible('conflict', operation)
  const codes = items.map((_, index) => (index === 0 ? 'TransactionConflict' : ofOthers))
  return refused('TransactionCanceledException', {
    Message:
      'Transaction cancelled, please refer cancellation reasons for specific reasons ' +
      `[${codes.join(', ')}]`,
    CancellationReasons: codes.map((Code) => ({ Code, ...reasons[Code] })),
  })
}

function transactItems(body: unknown): readonly unknown[] | undefined {
  if (typeof body !== 'object' || body === null || !('TransactItems' in body)) return undefined
  return Array.isArray(body.TransactItems) ? body.TransactItems : undefined
}

const impossible = (failure: Failure, operation: string) =>
  new Error(`DynamoDB never answers ${operation} with the failure '${failure}'.`)
