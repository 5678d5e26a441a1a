import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Network, resolverOf } from '#shared/platform/formats/fetch-file.ts'

/** The addresses of the server's names, by type of record. It does not answer for other names. */
const records: Record<string, { A?: string; AAAA?: string }> = {
  'both.example': { A: '93.184.216.34', AAAA: '2606:2800:21f:cb07:6820:80da:af6b:8b2c' },
  'old.example': { A: '93.184.216.34' },
  'new.example': { AAAA: '2606:2800:21f:cb07:6820:80da:af6b:8b2c' },
  'none.example': {},
}

/** More than the four threads of `dns.lookup`. */
const many = 8

let asked = 0
const server = createSocket('udp4')
server.on('message', (query, { port, address }) => {
  asked += 1
  const response = responseTo(query)
  if (response) server.send(response, port, address)
})

/** Returns the response to a query (RFC 1035); undefined for a name without records. */
function responseTo(query: Buffer): Buffer | undefined {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const known = records[labels.join('.').toLowerCase()]
  if (!known) return undefined
  const type = query.readUInt16BE(at + 1)
  const address = type === 1 ? known.A : known.AAAA
  const data =
    address === undefined
      ? undefined
      : type === 1
        ? Buffer.from(address.split('.').map(Number))
        : Buffer.from(
            address
              .split(':')
              .map((part) => part.padStart(4, '0'))
              .join(''),
            'hex',
          )
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data ? 1 : 0, 6)
  const question = query.subarray(12, at + 5)
  if (!data) return Buffer.concat([head, question])
  const answer = Buffer.alloc(12)
  answer.writeUInt16BE(0xc00c, 0)
  answer.writeUInt16BE(type, 2)
  answer.writeUInt16BE(1, 4)
  answer.writeUInt32BE(60, 6)
  answer.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, question, answer, data])
}

let resolve: Network['resolve']
beforeAll(async () => {
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  // Longer than any test takes, so that only a signal ends a lookup.
  resolve = resolverOf({ timeoutMilliseconds: 2 ** 30, servers: [`127.0.0.1:${server.address().port}`] })
})
afterAll(() => {
  server.close()
})

test.each([
  ['both families', 'both.example'],
  ['the first family', 'old.example'],
  ['the second family', 'new.example'],
])('a name has its addresses of %s', async (_, name) => {
  const { A, AAAA } = records[name] ?? {}
  expect(await resolve(name)).toEqual([A, AAAA].filter((address) => address !== undefined))
})

test('a name without addresses is an error', async () => {
  await expect(resolve('none.example')).rejects.toMatchObject({ code: 'ENODATA' })
})

test('lookups whose server is silent delay no other, and end with their signal', async () => {
  const aborted = new AbortController()
  const before = asked
  let ended = 0
  const silent = Array.from({ length: many }, (_, number) =>
    resolve(`silent-${number}.example`, aborted.signal).finally(() => {
      ended += 1
    }),
  )
  const all = Promise.allSettled(silent)
  while (asked < before + 2 * many) await once(server, 'message')
  expect(await resolve('both.example')).toHaveLength(2)
  expect(ended).toBe(0)
  aborted.abort()
  expect(new Set((await all).map(({ status }) => status))).toEqual(new Set(['rejected']))
})

test('a lookup does not begin after its signal', async () => {
  await expect(resolve('both.example', AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' })
})
