import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb'
import { Logger } from '@aws-lambda-powertools/logger'
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import { createLocalJWKSet, jwtVerify } from 'jose'
import * as v from 'valibot'

/**
 * The reference of the benchmark: POST /orders written the common way, with the complete SDK and the Powertools'
 * idempotency (a write before the effect, the effect, a write after it). It has no roles, rate limits, audit
 * or events, unlike the real handler.
 */
const logger = new Logger({ serviceName: 'reference' })
const client = new DynamoDBClient({})
const documents = DynamoDBDocumentClient.from(client)
const tableName = process.env.TABLE_NAME as string
const keys = createLocalJWKSet(JSON.parse(process.env.REFERENCE_KEYS as string))

const persistenceStore = new DynamoDBPersistenceLayer({
  tableName: process.env.IDEMPOTENCY_TABLE_NAME as string,
  awsSdkV3Client: client,
})
const config = new IdempotencyConfig({
  eventKeyJmesPath: 'key',
  payloadValidationJmesPath: 'order',
  throwOnNoIdempotencyKey: true,
})

const OrderBody = v.strictObject({
  cart_id: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(64)),
  amount_minor: v.pipe(v.number(), v.integer(), v.minValue(0)),
  currency: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/)),
})

interface Creation {
  key: string
  tenant: string
  order: v.InferOutput<typeof OrderBody>
}

const createOrder = makeIdempotent(
  async ({ tenant, order }: Creation) => {
    const id = crypto.randomUUID()
    const created = { ...order, id, status: 'active', created_at: new Date().toISOString() }
    await documents.send(
      new PutCommand({
        TableName: tableName,
        Item: { pk: `order#${tenant}#0`, sk: id, ...created },
        ConditionExpression: 'attribute_not_exists(pk)',
      }),
    )
    return created
  },
  { persistenceStore, config },
)

async function postOrder(event: APIGatewayProxyEvent, context: Context): Promise<APIGatewayProxyResult> {
  config.registerLambdaContext(context)
  const token = event.headers.Authorization?.replace('Bearer ', '') ?? ''
  const { payload } = await jwtVerify(token, keys, { algorithms: ['ES256'] }).catch(() => ({
    payload: undefined,
  }))
  if (!payload) return reply(401, { error: 'invalid token' })
  const body = v.safeParse(OrderBody, JSON.parse(event.body ?? 'null'))
  if (!body.success) return reply(422, { error: body.issues.map(({ message }) => message) })
  const key = event.headers['Idempotency-Key']
  if (!key) return reply(400, { error: 'Idempotency-Key is missing' })
  const tenant = String(payload.tenant)
  const order = await createOrder({ key: `${tenant}#${payload.sub}#${key}`, tenant, order: body.output })
  logger.info('order created', { id: order.id })
  return reply(201, order)
}

const reply = (statusCode: number, body: unknown): APIGatewayProxyResult => ({
  statusCode,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

export const handler = middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
  .use(injectLambdaContext(logger))
  .handler(postOrder)
