import { engineHeaders } from './engine.ts'
import type { LocalAws } from './environment.ts'

/** A mail that the local run accepted instead of sending it. */
interface SentMail {
  id: string
  at: string
  to: string[]
  subject: string
  text: string
}

/** Returns the mails of the local run, oldest first. @param to only those to this address */
export async function sentMails(aws: LocalAws, to?: string): Promise<SentMail[]> {
  interface Answer {
    messages: Record<
      string,
      { MessageId: string; To: string[]; Subject: string; BodyText: string; Timestamp: number }[]
    >
  }
  const { messages } = await ownJson<Answer>(aws, '/_ministack/ses/messages')
  return Object.values(messages)
    .flat()
    .map(({ MessageId: id, To: to, Subject: subject, BodyText: text, Timestamp }) => {
      const at = new Date(Timestamp * 1000).toISOString()
      return { id, at, to, subject, text }
    })
    .filter((mail) => to === undefined || mail.to.some((one) => one.toLowerCase() === to.toLowerCase()))
}

/** Reads from the engine's own paths, below /_ministack/. */
export async function ownJson<Body>(aws: LocalAws, path: string): Promise<Body> {
  const response = await fetch(`${aws.endpoint}${path}`, { headers: engineHeaders(aws) })
  if (!response.ok) throw new Error(`${path} returned ${response.status}`)
  return (await response.json()) as Body
}
