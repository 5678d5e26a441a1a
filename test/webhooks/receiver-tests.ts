import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { signingHeaders } from '#shared/subscribers/signing-secret.ts'
import { freePort } from '#test/support/free-port.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Language, type Receiver, startReceiver } from './receivers.ts'

const secretOf = (text: string) => `whsec_${Buffer.from(text.padEnd(32, '.')).toString('base64')}`
const secret = secretOf('the secret of the subscriber')
const otherSecret = secretOf('another secret')

/** Returns an event whose text changes if a program parses it and prints it again. */
const bodyOf = (id: string) => `{ "event_id":"${id}", "data":{"city":"Z\\u00fcrich","name":"Ä","rate":1.50} }`

interface Variation {
  /** How old the request is. */
  ageSeconds?: number
  secrets?: string[]
  headers?: object
}

/** Returns the headers of an event, signed as the service signs it. */
function headersOf(body: string, { ageSeconds = 0, secrets = [secret], headers = {} }: Variation = {}) {
  const eventId: string = JSON.parse(body).event_id
  const at = Date.now() - ageSeconds * 1000
  return { ...signingHeaders({ eventId, body, at, secrets }, localSettings), ...headers }
}

const accepted: Record<string, Variation> = {
  'with a valid signature': {},
  'with the signatures of the new and the old secret': { secrets: [otherSecret, secret] },
  'with the signatures of the old and the new secret': { secrets: [secret, otherSecret] },
}

const rejected: Record<string, Variation> = {
  'signed with another secret': { secrets: [otherSecret] },
  'signed an hour ago': { ageSeconds: 3600 },
  'signed for an hour later': { ageSeconds: -3600 },
  'with the id of another event': { headers: { 'webhook-id': 'another' } },
  'without a signature': { headers: { 'webhook-signature': '' } },
  'with a signature of an unknown form': { headers: { 'webhook-signature': 'unknown' } },
}

/** Tests an endpoint of the guide with signed requests. */
export function testReceiver(language: Language): void {
  describe(`the endpoint of the guide in ${language}`, () => {
    let folder: string
    let port: number
    let receiver: Receiver
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'receiver-'))
      port = await freePort()
      receiver = await startReceiver(language, { folder, secret, port })
    }, 600_000)
    afterAll(async () => {
      await receiver?.stop()
      await rm(folder, { recursive: true, force: true })
    })

    /** Sends a body. @returns the status of the response */
    async function send(body: string, headers: Record<string, string>): Promise<number> {
      return (await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body, headers })).status
    }

    /** Returns the events with this id that were printed before the next event. */
    async function printed(id: string) {
      const later = crypto.randomUUID()
      await send(bodyOf(later), headersOf(bodyOf(later), {}))
      await receiver.untilPrinted(({ event_id }) => event_id === later)
      return receiver.printed().filter(({ event_id }) => event_id === id)
    }

    test.each(Object.entries(accepted))('accepts an event %s', async (_, variation) => {
      const id = crypto.randomUUID()
      expect(await send(bodyOf(id), headersOf(bodyOf(id), variation))).toBe(204)
      expect(await printed(id)).toEqual([JSON.parse(bodyOf(id))])
    })

    test.each(Object.entries(rejected))('rejects an event %s', async (_, variation) => {
      const id = crypto.randomUUID()
      expect(await send(bodyOf(id), headersOf(bodyOf(id), variation))).toBe(401)
      expect(await printed(id)).toEqual([])
    })

    test('rejects a changed body', async () => {
      const id = crypto.randomUUID()
      expect(await send(bodyOf(id).replace('1.50', '1.5'), headersOf(bodyOf(id)))).toBe(401)
      expect(await printed(id)).toEqual([])
    })

    test('acknowledges duplicates that arrive at the same time, and handles one', async () => {
      const id = crypto.randomUUID()
      const sent = Array.from({ length: 5 }, () => send(bodyOf(id), headersOf(bodyOf(id))))
      expect(new Set(await Promise.all(sent))).toEqual(new Set([204]))
      expect(await printed(id)).toHaveLength(1)
    })

    test('recognizes a duplicate after a restart', async () => {
      const id = crypto.randomUUID()
      await send(bodyOf(id), headersOf(bodyOf(id)))
      expect(await receiver.stop()).toContainEqual(JSON.parse(bodyOf(id)))
      port = await freePort()
      receiver = await startReceiver(language, { folder, secret, port })
      expect(await send(bodyOf(id), headersOf(bodyOf(id)))).toBe(204)
      expect(await printed(id)).toEqual([])
    })
  })
}
