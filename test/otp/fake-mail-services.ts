import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { startHttpServer } from '#test/support/http-server.ts'

/** The handling of a mail. */
type MailBehavior =
  | 'taken'
  | 'refused'
  /** No response. */
  | 'ignored'
  /** Accepted, and the connection is reset before the response. */
  | 'taken-and-lost'
  /** Accepted without a response: the time to kill a process. */
  | 'taken-and-held'

interface Taken {
  FromEmailAddress: string
  Destination: { ToAddresses: string[] }
  Content: {
    Simple: { Subject: { Data: string; Charset: string }; Body: { Text: { Data: string; Charset: string } } }
  }
}

interface FakeMailServices {
  endpoint: string
  /** The accepted mails, in order. */
  mails: Taken[]
  /** How often it was asked to send a mail. */
  attempts: number
  /** The new visibility timeout of each failed message, in seconds. */
  pauses: number[]
  behavior: MailBehavior
  /** Resolves with the next accepted mail. */
  nextMail(): Promise<void>
  stop(): Promise<void>
}

/**
 * Fakes SES, Secrets Manager and the queue for the sender of mails, on loopback.
 * @param secretOf returns the value of a secret by its ARN
 */
export async function startFakeMailServices(secretOf: (arn: string) => string): Promise<FakeMailServices> {
  let waiting: (() => void)[] = []
  const fake: Omit<FakeMailServices, 'endpoint' | 'stop'> = {
    mails: [],
    attempts: 0,
    pauses: [],
    behavior: 'taken',
    nextMail: () => new Promise((resolve) => waiting.push(resolve)),
  }

  function takeMail(body: string, answer: ServerResponse): void {
    const { behavior } = fake
    fake.attempts += 1
    if (behavior === 'ignored') return
    if (behavior === 'refused') {
      answer.writeHead(503, { 'content-type': 'application/json' }).end('{"message":"down"}')
      return
    }
    fake.mails.push(JSON.parse(body))
    for (const resolve of waiting) resolve()
    waiting = []
    if (behavior === 'taken-and-lost') answer.destroy()
    else if (behavior === 'taken')
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{"MessageId":"m"}')
  }

  const { url: endpoint, stop } = await startHttpServer(async (request, answer) => {
    const body = await text(request)
    const target = String(request.headers['x-amz-target'] ?? '')
    if (request.url === '/v2/email/outbound-emails') return takeMail(body, answer)
    answer.setHeader('content-type', 'application/x-amz-json-1.1')
    if (target === 'secretsmanager.GetSecretValue')
      return answer.end(JSON.stringify({ SecretString: secretOf(JSON.parse(body).SecretId) }))
    if (target === 'AmazonSQS.ChangeMessageVisibility') fake.pauses.push(JSON.parse(body).VisibilityTimeout)
    return answer.end('{}')
  })
  return Object.assign(fake, { endpoint, stop })
}
