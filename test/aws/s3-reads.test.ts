import { setTimeout as sleep } from 'node:timers/promises'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { ByteRange } from '#shared/platform/formats/file-store.ts'
import { type S3BehindProxy, startS3BehindProxy } from './s3-behind-proxy.ts'

const key = 'imports/file.csv'
/** Large enough to arrive in many pieces. Adjacent bytes differ. */
const file = Buffer.from(Array.from({ length: 50_000 }, (_, n) => `row ${n}\n`).join(''))
let s3: S3BehindProxy['s3']
let proxy: S3BehindProxy['proxy']
const started = await startS3BehindProxy()
beforeAll(async () => {
  ;({ s3, proxy } = started)
  await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: key, Body: file }))
})
beforeEach(() => proxy.reset())
afterAll(() => started?.stop())

const open = (milliseconds = 30_000) => s3Files(s3.bucket, startBudget(systemClock, milliseconds))
async function read(range?: ByteRange, of = key, files = open()): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of files.read(of, range)) pieces.push(piece)
  return Buffer.concat(pieces)
}

describe('reading a file', () => {
  test('returns the complete file with one request', async () => {
    expect((await read()).equals(file)).toBe(true)
    expect(proxy.calls).toMatchObject([{ operation: 'GetObject' }])
  })

  test.each<[string, ByteRange]>([
    ['its first byte', { from: 0, to: 1 }],
    ['its last byte', { from: file.length - 1, to: file.length }],
    ['a range in the middle', { from: 100_001, to: 300_007 }],
    ['all bytes', { from: 0, to: file.length }],
  ])('returns %s of a range, and requests only that from S3', async (_, range) => {
    expect((await read(range)).equals(file.subarray(range.from, range.to))).toBe(true)
    expect(proxy.calls.map(({ headers }) => headers.range)).toEqual([`bytes=${range.from}-${range.to - 1}`])
  })

  test('in consecutive ranges returns each byte once', async () => {
    const ends = [0, 1, 77_777, 77_778, 250_000, file.length]
    const parts = await Promise.all(ends.slice(1).map((to, at) => read({ from: ends[at] ?? 0, to })))
    expect(Buffer.concat(parts).equals(file)).toBe(true)
  })

  test('fails as a dependency error if the file is absent or the range begins beyond its end', async () => {
    const unavailable = { code: 'DEPENDENCY.unavailable', cause: expect.any(Error) }
    await expect(read(undefined, 'imports/absent.csv')).rejects.toMatchObject(unavailable)
    await expect(read({ from: file.length, to: file.length + 1 })).rejects.toMatchObject(unavailable)
  })

  test.each(['forbidden', 'overloaded', 'cut'] as const)(
    'fails as a dependency error if S3 is %s',
    async (fault) => {
      proxy.inject(() => fault)
      await expect(read({ from: 0, to: 10 })).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    },
  )

  test('ends with the budget if S3 does not respond, and if the reader is slow', async () => {
    proxy.inject(() => 'hang')
    const timeout = { code: 'DEPENDENCY.timeout' }
    await expect(read({ from: 0, to: 10 }, key, open(600))).rejects.toMatchObject(timeout)

    proxy.reset()
    const slowly = async () => {
      for await (const _ of open(300).read(key)) await sleep(200)
    }
    await expect(slowly()).rejects.toMatchObject(timeout)
  })
})
