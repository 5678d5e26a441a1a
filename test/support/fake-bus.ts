import { createHash } from 'node:crypto'
import { deadLettersVariable } from '#shared/platform/aws/stream-function.ts'
import { type FakeAws, startFakeAws } from './fake-aws.ts'

/** An event as rules of the bus see it. */
interface BusEntry {
  Source: string
  DetailType: string
  Detail: string
  Resources: string[]
}

interface FakeBus extends FakeAws {
  /** The accepted events of the bus and messages of queues, in order. */
  events: BusEntry[]
  messages: string[]
  /** Takes what a function moves to its dead letters. */
  setAside: (body: string) => void
  /** Decides whether the text of an event or a message is accepted. */
  accepts: (text: string) => boolean
}

/**
 * Fakes the bus and the queue of webhooks, and directs the functions of the stream in this process to them.
 * @param others further operations
 */
export async function startFakeBus(others: Parameters<typeof startFakeAws>[0] = {}): Promise<FakeBus> {
  const aws = await startFakeAws({
    ...others,
    'AWSEvents.PutEvents'({ Entries }) {
      const entries = Entries as BusEntry[]
      const accepted = entries.filter(({ Detail }) => bus.accepts(Detail))
      bus.events.push(...accepted)
      return {
        Entries: entries.map((one) => (accepted.includes(one) ? { EventId: 'e' } : { ErrorCode: 'Busy' })),
      }
    },
    'AmazonSQS.SendMessageBatch'({ Entries, QueueUrl }) {
      const entries = Entries as { Id: string; MessageBody: string }[]
      const accepted = entries.filter(({ MessageBody }) => bus.accepts(MessageBody))
      const bodies = accepted.map(({ MessageBody }) => MessageBody)
      if (QueueUrl === process.env[deadLettersVariable]) bodies.forEach(bus.setAside)
      else bus.messages.push(...bodies)
      return {
        Successful: accepted.map(({ Id, MessageBody }) => ({
          Id,
          MessageId: Id,
          MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
        })),
      }
    },
  })
  const bus: FakeBus = { ...aws, events: [], messages: [], setAside: () => {}, accepts: () => true }
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: aws.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    EVENT_BUS_NAME: 'bus',
    [deadLettersVariable]: `${aws.endpoint}/dead`,
    WEBHOOKS_QUEUE_URL: `${aws.endpoint}/webhooks`,
    // Failures are intended.
    POWERTOOLS_LOG_LEVEL: 'SILENT',
  })
  return bus
}
