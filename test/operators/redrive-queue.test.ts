import { beforeEach, expect, test } from '@jest/globals'
import type { DeadLetter } from '#bin/commands/dead-letters/dead-letters.ts'
import { redriveQueue } from '#bin/commands/dead-letters/redrive-queue.ts'

/** The time at which the redrive begins, in milliseconds since 1970. */
const began = Date.parse('2026-01-31T12:00:00Z')
let stored: (DeadLetter & { hidden: boolean })[]
let sent: string[]
let audited: [tenant: string | undefined, messages: number][]
/** Fails messages at once, so they are among the dead letters again. */
let fails: boolean
/** Runs before each receipt. */
let meanwhile: () => void
beforeEach(() => {
  stored = []
  sent = []
  audited = []
  fails = false
  meanwhile = () => {}
})

let ids = 0
function put(body: string, { sentAt = began - 1000, id = `m${ids++}` } = {}): string {
  stored.push({ id, body, group: 'acme', sentAt: new Date(sentAt), receipt: id, hidden: false })
  return id
}

function redrive(selection: { id?: string; limit?: number } = {}): Promise<number> {
  const letters = {
    async receive() {
      meanwhile()
      const received = stored.filter(({ hidden }) => !hidden).slice(0, 10)
      for (const letter of received) letter.hidden = true
      return received
    },
    async remove({ receipt }: DeadLetter) {
      stored = stored.filter((letter) => letter.receipt !== receipt)
    },
    async putBack({ receipt }: DeadLetter) {
      for (const letter of stored) if (letter.receipt === receipt) letter.hidden = false
    },
  }
  const work = {
    letters,
    ...{ queue: 'webhooks' as const, report: () => {}, now: () => began },
    async send({ body }: DeadLetter) {
      sent.push(body)
      // A message keeps its id and its time when it becomes a dead letter.
      return fails ? put(body, { sentAt: began + 1000 }) : `handled-${sent.length}`
    },
    async audit(tenant: string | undefined, messages: number) {
      audited.push([tenant, messages])
    },
  }
  return redriveQueue(work, selection)
}

const visible = () => stored.filter(({ hidden }) => !hidden).map(({ body }) => body)

test('all messages return to their queue, after the audit of their tenants recorded it', async () => {
  for (let n = 0; n < 12; n += 1) put(`e${n}`)
  expect(await redrive()).toBe(12)
  expect([sent.length, stored.length, audited]).toEqual([
    12,
    0,
    [
      ['acme', 10],
      ['acme', 2],
    ],
  ])
})

test('a message that fails again is left alone, visible for other commands', async () => {
  fails = true
  for (let n = 0; n < 12; n += 1) put(`e${n}`)
  expect(await redrive()).toBe(12)
  expect(sent).toHaveLength(12)
  expect(visible()).toHaveLength(12)
})

test('messages that arrive during the redrive are left alone, and it ends although they go on', async () => {
  put('old')
  let arrivals = 0
  meanwhile = () => {
    arrivals += 1
    if (arrivals > 100) throw new Error('it does not end')
    put(`new ${arrivals}`, { sentAt: began + 3_600_000 })
  }
  expect(await redrive()).toBe(1)
  expect(sent).toEqual(['old'])
  expect(visible()).not.toContain('old')
  expect(visible().length).toBeGreaterThan(0)
})

test('a limit leaves the others, visible for other commands', async () => {
  for (let n = 0; n < 5; n += 1) put(`e${n}`)
  expect(await redrive({ limit: 2 })).toBe(2)
  expect(sent).toEqual(['e0', 'e1'])
  expect(visible()).toEqual(['e2', 'e3', 'e4'])
})

test('one message is taken by its id, and no other', async () => {
  for (let n = 0; n < 25; n += 1) put(`e${n}`)
  const id = put('wanted')
  expect(await redrive({ id })).toBe(1)
  expect(sent).toEqual(['wanted'])
  expect(visible()).toHaveLength(25)
})

test('an id that the queue does not have moves nothing', async () => {
  put('e')
  expect(await redrive({ id: 'other' })).toBe(0)
  expect([sent, visible()]).toEqual([[], ['e']])
})
