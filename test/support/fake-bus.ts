import { createHash } from 'node:crypto'
import { type FakeAws, startFakeAws } from './fake-aws.ts'

/** An event as rules of the bus see it. */
interface BusEntry {
  Source: string
  DetailType: string
  Detail: string
}

export interface FakeBus extends FakeAws {
  /** The accepted events of the bus and messages of queues, in order. */
  events: BusEntry[]
  messages: string[]
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
    'AmazonSQS.SendMessageBatch'({ Entries }) {
      const entries = Entries as { Id: string; MessageBody: string }[]
      const accepted = entries.filter(({ MessageBody }) => bus.accepts(MessageBody))
      bus.messages.push(...accepted.map(({ MessageBody }) => MessageBody))
      return {
        Successful: accepted.map(({ Id, MessageBody }) => ({
          Id,
          MessageId: Id,
          MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
        })),
      }
    },
  })
  const bus: FakeBus = { ...aws, events: [], messages: [], accepts: () => true }
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: aws.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    EVENT_BUS_NAME: 'bus',
    WEBHOOKS_QUEUE_URL: `${aws.endpoint}/webhooks`,
    // Failures are intended.
    POWERTOOLS_LOG_LEVEL: 'SILENT',
  })
  return bus
}
