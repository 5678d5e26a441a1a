import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { HeadObjectCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { movableClock } from '#test/support/clocks.ts'
import { type S3BehindProxy, startS3BehindProxy } from './s3-behind-proxy.ts'

const megabyte = 1024 * 1024
const partBytes = 5 * megabyte
const as = { fileName: 'orders.csv', mediaType: 'text/csv', seconds: 60 }
let s3: S3BehindProxy['s3']
let proxy: S3BehindProxy['proxy']

const started = await startS3BehindProxy()
beforeAll(() => {
  ;({ s3, proxy } = started)
})
beforeEach(() => proxy.reset())
afterAll(() => started?.stop())

const open = (milliseconds = 3_600_000) => s3Files(s3.bucket, startBudget(systemClock, milliseconds))
const newKey = () => `exports/${crypto.randomUUID()}.csv`
const operations = () => proxy.calls.map(({ operation }) => operation)

/** Yields distinct chunks of 64 KB, this many bytes in total. Calls `closed` when the reader ends, `ahead` after each chunk. */
function source(bytes: number, ahead: (produced: number) => void = () => {}) {
  const state = { closed: false, hash: createHash('sha256') }
  async function* chunks() {
    try {
      for (let produced = 0; produced < bytes; ) {
        const chunk = Buffer.alloc(Math.min(65_536, bytes - produced), `row ${produced},`)
        produced += chunk.length
        state.hash.update(chunk)
        ahead(produced)
        yield chunk
      }
    } finally {
      state.closed = true
    }
  }
  return { state, chunks: chunks() }
}

async function* failing(bytes: number, error: unknown) {
  yield* source(bytes).chunks
  throw error
}

async function expectNothingAt(key: string): Promise<void> {
  const object = s3.client.send(new HeadObjectCommand({ Bucket: s3.bucket, Key: key }))
  await expect(object).rejects.toMatchObject({ name: 'NotFound' })
  const uploads = async () => {
    const { Uploads = [] } = await s3.client.send(new ListMultipartUploadsCommand({ Bucket: s3.bucket }))
    return Uploads.filter(({ Key }) => Key === key)
  }
  // The writer does not wait longer than a second for the end of an upload.
  for (const over = Date.now() + 60_000; (await uploads()).length > 0 && Date.now() < over; ) await sleep(100)
  expect(await uploads()).toEqual([])
}

describe('writing a file', () => {
  test('stores a small file with one request, under its download name', async () => {
    const key = newKey()
    const text = 'id,amount\no1,1999\nö,5\n'
    await open().write(key, source(0).chunks, 'text/csv')
    await open().write(
      key,
      (async function* () {
        yield Buffer.from(text.slice(0, 9))
        yield Buffer.from(text.slice(9))
      })(),
      'text/csv; charset=utf-8',
    )
    expect(operations()).toEqual(['PutObject', 'PutObject'])
    const stored = await s3.client.send(new HeadObjectCommand({ Bucket: s3.bucket, Key: key }))
    expect(stored).toMatchObject({
      ContentType: 'text/csv; charset=utf-8',
      ContentLength: Buffer.byteLength(text),
    })

    const answer = await fetch(
      await open().link(key, { ...as, fileName: 'my "orders".csv', mediaType: 'text/plain' }),
    )
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/plain')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="my \\"orders\\".csv"')
    expect(await answer.text()).toBe(text)
  })

  test('stores an empty file if there are no chunks', async () => {
    const key = newKey()
    await open().write(key, source(0).chunks, 'text/csv')
    expect(await (await fetch(await open().link(key, as))).text()).toBe('')
  })

  test('buffers at most two parts of a file of 20 MB', async () => {
    const key = newKey()
    let furthest = 0
    const { chunks, state } = source(20 * megabyte, (produced) => {
      furthest = Math.max(furthest, produced - proxy.taken())
    })
    await open().write(key, chunks, 'text/csv')
    expect(operations()).toEqual([
      'CreateMultipartUpload',
      ...Array(4).fill('UploadPart'),
      'CompleteMultipartUpload',
    ])
    // Chunks that are being added to a part count in addition.
    expect(furthest).toBeLessThanOrEqual(2 * partBytes + 4 * 65_536)
    expect(furthest).toBeGreaterThan(partBytes)
    const answer = await fetch(await open().link(key, as))
    expect(
      createHash('sha256')
        .update(await answer.bytes())
        .digest('hex'),
    ).toBe(state.hash.digest('hex'))
  })

  test('signs the SHA-256 of the body of each request', async () => {
    await open().write(newKey(), source(12 * megabyte).chunks, 'text/csv')
    for (const { headers } of proxy.calls) {
      expect(headers['x-amz-content-sha256']).toMatch(/^[0-9a-f]{64}$/)
      expect(headers.authorization).toMatch(/SignedHeaders=[^,]*x-amz-content-sha256/)
    }
  })
})

describe('an unfinished file leaves neither an object nor parts', () => {
  const large = 7 * megabyte

  test.each([
    ['before the first part is full', megabyte, []],
    [
      'after some parts',
      12 * megabyte,
      ['CreateMultipartUpload', 'UploadPart', 'UploadPart', 'AbortMultipartUpload'],
    ],
  ])('if its chunks throw %s, which is rethrown', async (_when, bytes, expected) => {
    for (const error of [fail('DEPENDENCY.timeout'), new TypeError('of the rows')]) {
      const key = newKey()
      proxy.reset()
      await expect(open().write(key, failing(bytes, error), 'text/csv')).rejects.toBe(error)
      expect(operations()).toEqual(expected)
      await expectNothingAt(key)
    }
  })

  test.each([
    ['the file', 'PutObject', megabyte],
    ['the beginning', 'CreateMultipartUpload', large],
    ['a part', 'UploadPart', large],
    ['the end', 'CompleteMultipartUpload', large],
  ])('if S3 rejects %s', async (_what, operation, bytes) => {
    for (const fault of ['forbidden', 'overloaded', 'cut'] as const) {
      const key = newKey()
      const { chunks, state } = source(bytes)
      proxy.inject((call) => (call.operation === operation ? fault : undefined))
      await expect(open().write(key, chunks, 'text/csv')).rejects.toMatchObject({
        code: 'DEPENDENCY.unavailable',
        cause: expect.any(Error),
      })
      expect(state.closed).toBe(true)
      await expectNothingAt(key)
    }
  })

  test('if the budget ends while S3 does not respond', async () => {
    const key = newKey()
    const { chunks, state } = source(large)
    const spent = new AbortController()
    proxy.inject(({ operation }) => {
      if (operation !== 'UploadPart') return
      spent.abort()
      return 'hang'
    })
    const budget = { ...startBudget(systemClock, 3_600_000), signal: spent.signal }
    await expect(s3Files(s3.bucket, budget).write(key, chunks, 'text/csv')).rejects.toMatchObject({
      code: 'DEPENDENCY.timeout',
    })
    expect(state.closed).toBe(true)
    await expectNothingAt(key)
  })

  test.each([
    ['small', 1000],
    ['large', 2 * megabyte],
  ])('if the budget ends while its chunks are created, which are %s', async (_size, bytes) => {
    const key = newKey()
    const clock = movableClock()
    let made = 0
    async function* slowly() {
      for (; made < 30; made += 1) {
        await sleep(10)
        if (made === 15) clock.advance(3_600_000)
        yield Buffer.alloc(bytes)
      }
    }
    const budget = startBudget(clock, 3_600_000)
    await expect(s3Files(s3.bucket, budget).write(key, slowly(), 'text/csv')).rejects.toMatchObject({
      code: 'DEPENDENCY.timeout',
    })
    expect(made).toBeLessThan(20)
    await expectNothingAt(key)
  })

  test.each([0, 1])('if the budget ended before the start (%i bytes)', async (bytes) => {
    const spent = open(1)
    await sleep(20)
    await expect(spent.write(newKey(), source(bytes).chunks, 'text/csv')).rejects.toMatchObject({
      code: 'DEPENDENCY.timeout',
    })
    expect(operations()).toEqual([])
  })
})

test('a file is complete after a retried request', async () => {
  const key = newKey()
  const failed = new Set<string>()
  proxy.inject(({ operation }) => {
    if (failed.has(operation)) return undefined
    failed.add(operation)
    return operation === 'UploadPart' ? 'cut' : 'overloaded'
  })
  const { chunks, state } = source(12 * megabyte)
  await open().write(key, chunks, 'text/csv')
  expect([...failed]).toEqual(['CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'])
  proxy.reset()
  const answer = await fetch(await open().link(key, as))
  expect(
    createHash('sha256')
      .update(await answer.bytes())
      .digest('hex'),
  ).toBe(state.hash.digest('hex'))
})

describe('a link', () => {
  const altered = (link: string, parameter: string, change: (value: string) => string) => {
    const url = new URL(link)
    url.searchParams.set(parameter, change(url.searchParams.get(parameter) ?? ''))
    return url
  }
  let key: string
  let link: string

  beforeAll(async () => {
    key = newKey()
    await open().write(key, source(100).chunks, 'text/csv')
    link = await open().link(key, as)
  })

  test('is signed without a request to S3, and expires as requested', async () => {
    expect(operations()).toEqual([])
    expect(new URL(link).searchParams.get('X-Amz-Expires')).toBe('60')
    expect((await fetch(link)).status).toBe(200)
    const brief = await open().link(key, { ...as, seconds: 1 })
    await sleep(2100)
    expect((await fetch(brief)).status).toBe(403)
  })

  test.each<[string, (link: string) => string | URL]>([
    [
      'signature',
      (it) =>
        altered(it, 'X-Amz-Signature', (hex) => hex.replace(/.$/, (last) => (last === '0' ? '1' : '0'))),
    ],
    ['key', (it) => it.replace('.csv?', '.csw?')],
    ['life', (it) => altered(it, 'X-Amz-Expires', () => '6000')],
    ['name', (it) => altered(it, 'response-content-disposition', () => 'attachment; filename="x.exe"')],
    ['media type', (it) => altered(it, 'response-content-type', () => 'text/html')],
  ])('with another %s is rejected', async (_part, change) => {
    const changed = change(link)
    expect(String(changed)).not.toBe(link)
    expect((await fetch(link)).status).toBe(200)
    expect((await fetch(changed)).status).toBe(403)
  })

  test('permits reading only', async () => {
    expect((await fetch(link, { method: 'DELETE' })).status).toBe(403)
    expect((await fetch(link, { method: 'PUT', body: 'mine' })).status).toBe(403)
    expect((await fetch(link)).status).toBe(200)
  })
})

test('a refused connection is an unavailable dependency', async () => {
  await proxy.stop()
  await expect(open().write(newKey(), source(1).chunks, 'text/csv')).rejects.toMatchObject({
    code: 'DEPENDENCY.unavailable',
  })
})
