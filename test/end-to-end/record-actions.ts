import { appendFileSync } from 'node:fs'
import { Client } from '@smithy/core/client'

/**
 * Loaded into a command before it starts (`node --import`): appends the IAM action of each call of an AWS SDK client to
 * the file that RECORD_ACTIONS names, as one line of JSON with the command.
 */
const file = process.env.RECORD_ACTIONS ?? ''
const command = process.argv.slice(2)

const prefixes: Record<string, string> = {
  CloudFormation: 'cloudformation',
  CloudWatch: 'cloudwatch',
  'Cognito Identity Provider': 'cognito-idp',
  DynamoDB: 'dynamodb',
  'DynamoDB Streams': 'dynamodb',
  EventBridge: 'events',
  Lambda: 'lambda',
  Scheduler: 'scheduler',
  'Secrets Manager': 'secretsmanager',
  SFN: 'states',
  SQS: 'sqs',
  STS: 'sts',
}
/** Calls whose actions have other names. */
const renamed: Record<string, string> = {
  BatchGet: 'BatchGetItem',
  BatchWrite: 'BatchWriteItem',
  DeleteMessageBatch: 'DeleteMessage',
  Invoke: 'InvokeFunction',
  SendMessageBatch: 'SendMessage',
}
const ofTransactions: Record<string, string> = {
  ConditionCheck: 'ConditionCheckItem',
  Delete: 'DeleteItem',
  Put: 'PutItem',
  Update: 'UpdateItem',
}

interface SentCommand {
  constructor: { name: string }
  input: { TransactItems?: object[] }
}

function actionsOf(service: string, sent: SentCommand): string[] {
  const call = sent.constructor.name.replace(/Command$/, '')
  const parts =
    call === 'TransactWriteItems' ? (sent.input.TransactItems ?? []).flatMap(Object.keys) : undefined
  const names = parts?.map((part) => ofTransactions[part] ?? part) ?? [renamed[call] ?? call]
  return names.map((name) => `${prefixes[service] ?? service}:${name}`)
}

const { send } = Client.prototype
Client.prototype.send = function (this: { config: { serviceId: string } }, ...args: unknown[]) {
  const actions = actionsOf(this.config.serviceId, args[0] as SentCommand)
  appendFileSync(file, actions.map((action) => `${JSON.stringify({ command, action })}\n`).join(''))
  return Reflect.apply(send, this, args)
} as typeof send
