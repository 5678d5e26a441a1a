import { createDeliveries } from '#shared/deliveries/create-deliveries.ts'
import { sendDeliveries } from '#shared/deliveries/send-deliveries.ts'
import { endImport } from '#shared/imports/end-import.ts'
import { importRows } from '#shared/imports/import-rows.ts'
import { prepareImport } from '#shared/imports/prepare-import.ts'
import { startImport } from '#shared/imports/start-import.ts'
import { sendReset } from '#shared/login/password-reset.ts'
import { handleMailEvent } from '#shared/otp/mail-event.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { openWork, type WorkContext } from '#shared/platform/request/context.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'
import type { ProviderRefund, ProviderRefundRange } from '#shared/refunds/provider-refunds.ts'
import { reconcileMessage, startMessage } from '#shared/refunds/reconcile-daily.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { epoch } from '#test/simulation/client.ts'
import { type StoredData, serviceOn, type WaitingMessage } from './stored-data.ts'

type Data = Pick<StoredData, 'at' | 'items' | 'files'>

/** What receivers do outside of the table. */
interface Outside {
  note(effect: string): void
  /** Messages of the queues `deliveries` and `reconciliations`. */
  sent: string[]
}

/**
 * Hands a message to its receiver on data that a release wrote.
 * @returns what it has changed and sent, and the result of a step
 * @throws the error for which it would go to the dead letters
 */
export async function effectsOf(data: Data, message: WaitingMessage): Promise<string[]> {
  const effects: string[] = []
  const note = (effect: string) => void effects.push(effect)
  await receive(data, message, { note, sent: [] })
  return effects.sort()
}

/** Returns the messages of the daily comparison of refunds, one of which starts those of the rest of the accounts. */
export async function reconciliationsOf(data: Data): Promise<WaitingMessage[]> {
  const rest = { from: 'acct_1', to: timestamp(epoch) }
  const sent = [startMessage, JSON.stringify(rest)]
  // The receiver of each message sends the next: that of the schedule a task, and a task its rest.
  for (const body of sent) await receive(data, { receiver: 'reconciliations', body }, { note() {}, sent })
  return sent.map((body) => ({ receiver: 'reconciliations', body }))
}

async function receive(data: Data, { receiver, body }: WaitingMessage, outside: Outside): Promise<void> {
  const service = await serviceOn(data, ({ after }) => {
    if (after) outside.note(`${ownerOf(after.pk).kind} ${after.state ?? 'changed'}`)
  })
  const correlation = { id: 'waiting', trace: {} }
  const options = { operation: receiver, correlation, milliseconds: 10_000 }
  const result = await receivers[receiver](body, openWork(service.runtime, options), outside)
  if (!result || typeof result !== 'object' || !('next' in result)) return
  // An execution that the release began reads the result by its own definition.
  outside.note(`next: ${result.next}`)
  for (const field of Object.keys(result)) outside.note(`next: has ${field}`)
}

const receivers: Record<
  WaitingMessage['receiver'],
  (body: string, context: WorkContext, outside: Outside) => Promise<unknown>
> = {
  webhooks: (body, context) => handleEvent(body, context),
  mail: (body, context, { note }) => sendCode(body, context, async (_, { to }) => note(`mail to ${to}`)),
  mail_events: (body, context) => handleMailEvent(body, context),
  password_resets(body, context, { note }) {
    const sendMail = async (email: string) => note(`reset of ${email}`)
    return sendReset(body, { sendReset: sendMail } as never, context)
  },
  imports: (body, _, { note }) =>
    startImport(body, {
      start: async (name, { tenant, operation_id }) => note(`workflow ${name}: ${tenant} ${operation_id}`),
    }),
  prepare: (body, context) => prepareImport(JSON.parse(body), context),
  rows: (body, context) => importRows(JSON.parse(body), context),
  end: (body, context) => endImport(JSON.parse(body), context),
  reconciliations: (body, context, outside) =>
    reconcileMessage(body, context, {
      openProviderRefunds: async () => ({
        list: (range) => manyRefunds(context.now(), range),
        find: async () => undefined,
      }),
      send: queueOf('account', outside),
    }),
  published_events: (body, context, outside) =>
    Promise.all(createDeliveries([body], context, queueOf('delivery', outside))),
  deliveries: (body, context, outside) =>
    Promise.all(
      sendDeliveries([body], context, {
        call: async ({ body: event }) => {
          outside.note(`call ${JSON.parse(event).event_id}`)
          return { status: 204, answer: '' }
        },
        sign: async () => ({}),
        send: queueOf('delivery', outside),
      }),
    ),
}

/** Yields more refunds than one message may compare in the time that it has. */
async function* manyRefunds(now: number, { from, to }: ProviderRefundRange): AsyncGenerator<ProviderRefund> {
  for (let n = 0; n < 400; n += 1) {
    const createdAt = now - 3_600_000 - n * 1000
    const unknown = { refundId: undefined, tenant: undefined, requestName: undefined }
    const payout = { id: `re_${n}`, chargeId: `ch_${n}`, amount: 1, currency: 'EUR', createdAt }
    if (createdAt >= from && createdAt < to) yield { ...unknown, ...payout, status: 'succeeded' }
  }
}

/** Returns a queue that notes what its messages are about. */
function queueOf(field: string, { note, sent }: Outside) {
  return async (messages: readonly { body: string }[]) =>
    messages.map(({ body }) => {
      note(`sent: ${JSON.parse(body)[field]}`)
      sent.push(body)
      return false
    })
}
