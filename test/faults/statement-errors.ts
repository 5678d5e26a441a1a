import type { Answer } from './dynamodb-failures.ts'

/** Returns the error code of the statement at an index of a batch; undefined if it succeeds. */
export type StatementErrors = (index: number) => string | undefined

interface Batch {
  Statements: unknown[]
}

/**
 * Responds to a batch of PartiQL statements: executes those that succeed and adds the errors of the others, in the format
 * of DynamoDB.
 */
export async function failSome(
  body: unknown,
  errors: StatementErrors,
  carryOut: (changed: Buffer) => Promise<Answer>,
): Promise<Answer> {
  const batch = body as Batch
  const Statements = batch.Statements.filter((_, index) => errors(index) === undefined)
  // DynamoDB rejects an empty batch.
  const answer =
    Statements.length > 0 ? await carryOut(bytesOf({ ...batch, Statements })) : answerOf({ Responses: [] })
  const others: unknown[] = JSON.parse(answer.body.toString()).Responses
  const Responses = batch.Statements.map((_, index) => {
    const Code = errors(index)
    return Code === undefined ? others.shift() : { Error: { Code, Message: 'A failure of this test' } }
  })
  return answerOf({ Responses })
}

const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
const answerOf = (value: unknown): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: bytesOf(value),
})
