import type { Answer } from './dynamodb-failures.ts'

/** By which code the statement at an index of a batch fails; none where it takes effect. */
export type StatementErrors = (index: number) => string | undefined

interface Batch {
  Statements: unknown[]
}

/**
 * Answers a batch of PartiQL statements: those that do not fail are carried out, with the errors of the others between
 * their answers, as DynamoDB shapes them.
 */
export async function failSome(
  body: unknown,
  errors: StatementErrors,
  carryOut: (changed: Buffer) => Promise<Answer>,
): Promise<Answer> {
  const batch = body as Batch
  const Statements = batch.Statements.filter((_, index) => errors(index) === undefined)
  // A batch of nothing would be refused.
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
