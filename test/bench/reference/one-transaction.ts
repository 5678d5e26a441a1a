import { createHash } from 'node:crypto'
import { Logger } from '@aws-lambda-powertools/logger'
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware'
import { DynamoDBClient, TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { createLocalJWKSet, jwtVerify } from 'jose'
import * as v from 'valibot'

/**
 * The reference as an engineer may write it who knows transactions: the idempotency record and the order are one request of
 * DynamoDB, as in the service. It has no roles, rate limits, audit or events either.
 */
const logger = new Logger({ serviceName: 'reference' })
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}))
const TableName = process.env.TABLE_NAME as string
const keys = createLocalJWKSet(JSON.parse(process.env.REFERENCE_KEYS as string))
const lifetimeSeconds = 24 * 3600

const OrderBody = v.strictObject({
  cart_id: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64)),
  amount_minor: v.pipe(v.number(), v.integer(), v.minValue(0)),
  currency: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/)),
})

async function postOrder(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const token = event.headers.Authorization?.replace('Bearer ', '') ?? ''
  const { payload } = await jwtVerify(token, keys, { algorithms: ['ES256'] }).catch(() => ({
    payload: undefined,
  }))
  if (!payload) return reply(401, { error: 'invalid token' })
  const text = event.body ?? 'null'
  const body = v.safeParse(OrderBody, JSON.parse(text))
  if (!body.success) return reply(422, { error: body.issues.map(({ message }) => message) })
  const key = event.headers['Idempotency-Key']
  if (!key) return reply(400, { error: 'Idempotency-Key is missing' })
  const tenant = String(payload.tenant)
  const id = crypto.randomUUID()
  const created = { ...body.output, id, status: 'active', created_at: new Date().toISOString() }
  const record = {
    pk: `idempotency#${hashOf(`${tenant}#${payload.sub}#${key}`)}`,
    sk: 'record',
    payload_hash: hashOf(text),
    body: created,
    expires_at: Math.floor(Date.now() / 1000) + lifetimeSeconds,
  }
  const ConditionExpression = 'attribute_not_exists(pk)'
  const order = { pk: `order#${tenant}#0`, sk: id, ...created }
  const transaction = new TransactWriteCommand({
    TransactItems: [
      {
        Put: { TableName, Item: record, ConditionExpression, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' },
      },
      { Put: { TableName, Item: order, ConditionExpression } },
    ],
  })
  try {
    await documents.send(transaction)
  } catch (thrown) {
    const earlier = thrown instanceof TransactionCanceledException && thrown.CancellationReasons?.[0]?.Item
    if (!earlier) throw thrown
    return reply(201, earlier)
  }
  logger.info('order created', { id })
  return reply(201, created)
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')

const reply = (statusCode: number, body: unknown): APIGatewayProxyResult => ({
  statusCode,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

export const handler = middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
  .use(injectLambdaContext(logger))
  .handler(postOrder)
