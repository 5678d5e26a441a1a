import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { activity, type ConsoleEntry } from '#bin/console/activity.ts'
import { type LocalSource, localSource } from '#bin/console/local.ts'
import { activityFeed, links, mailFeed, payoutFeed, queueFeed } from '#bin/console/local-feeds.ts'
import { startConsole } from '#bin/console/server.ts'
import { entriesOf } from '#bin/console/table-entries.ts'
import { type ServedSite, serveSite } from '#bin/describe/reference/site.ts'
import type { ServiceFile } from '#bin/local/service-file.ts'
import { deadLettersOutput } from '#lib/functions/function-names.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { freePort } from '#test/support/free-port.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'

describe('the activity', () => {
  const entry = (id: string, more: object = {}): ConsoleEntry => ({ kind: 'mail', id, ...more })

  test('keeps the latest entries of a kind', () => {
    const shown = activity({ mail: 2 })
    shown.add(['1', '2', '3'].map((id) => entry(id)))
    expect(shown.all('mail').map(({ id }) => id)).toEqual(['2', '3'])
  })

  test('replaces an entry by its id', () => {
    const shown = activity()
    shown.add([entry('1', { state: 'running' }), entry('1', { state: 'succeeded' })])
    expect(shown.all('mail')).toEqual([entry('1', { state: 'succeeded' })])
  })

  test('sends viewers only what has changed', () => {
    const shown = activity()
    const sent: (readonly ConsoleEntry[])[] = []
    shown.watch((changed) => sent.push(changed))
    shown.add([entry('1')])
    shown.add([entry('1'), entry('2')])
    shown.add([entry('2')])
    expect(sent).toEqual([[entry('1')], [entry('2')]])
  })
})

describe('an item of the table', () => {
  const body = {
    event_id: 'e-1',
    correlation_id: 'c-1',
    occurred_at: '2026-11-23T10:00:00.000Z',
  }
  const delivery = {
    ...keyOf('acme', 'delivery', '0192f3a4-5b6c-8d8e-9f01-23456789ab00'),
    ...{ subscriber_id: 's-1', event_id: 'e-1', type: 'order.placed', body: JSON.stringify(body) },
    ...{ state: 'waiting', attempted: 1, attempts: [{ at: '', status: 500 }], next_at: 5, expires_at: 9 },
  }

  test('that is a delivery has its tenant, its correlation id and its next attempt', () => {
    const { pk: _, sk: id, expires_at: __, ...fields } = delivery
    expect(entriesOf(delivery)).toEqual([
      {
        ...{ kind: 'delivery', id, tenant: 'acme', correlation_id: 'c-1' },
        ...fields,
        at: Date.UTC(2026, 10, 23, 10),
      },
    ])
  })

  test('that is a failed delivery has no next attempt', () => {
    expect(entriesOf({ ...delivery, state: 'failed' })[0]?.next_at).toBeUndefined()
  })

  const subscriber = { id: 's-1', url: 'https://a.example', events: ['*'], state: 'active' }
  const stored = { ...keyOf('acme', 'subscriber', 's-1'), ...subscriber, tenant_id: 'acme', secrets: ['x'] }

  test('that is a subscriber is shown without its secrets', () => {
    expect(entriesOf(stored)).toEqual([{ kind: 'subscriber', tenant: 'acme', ...subscriber }])
  })

  test('that is a deleted subscriber is shown as deleted', () => {
    expect(entriesOf(stored, true)).toEqual([
      { kind: 'subscriber', tenant: 'acme', ...subscriber, state: 'deleted' },
    ])
  })

  test('that is deleted otherwise is left out', () => {
    expect(entriesOf(delivery, true)).toEqual([])
  })

  test('that is a refund has its payout, and nothing that only its saga needs', () => {
    const fields = {
      id: 'r-1',
      charge_id: 'ch_1',
      amount: 5,
      currency: 'EUR',
      status: 'succeeded',
      account: 'a',
    }
    const stored = {
      ...fields,
      tenant_id: 'acme',
      request_name: 'secret',
      provider_refund_id: 're_1',
      version: 1,
    }
    const [entry] = entriesOf({
      ...keyOf('acme', 'refund', '0192f3a4-5b6c-8d8e-9f01-23456789ab00'),
      ...{ ...stored, created_at: '2026-11-23T10:00:00.000Z', updated_at: '2026-11-23T10:00:01.000Z' },
    })
    expect(entry).toEqual({
      ...{ ...fields, kind: 'refund', tenant: 'acme', provider_refund_id: 're_1' },
      ...{ at: Date.UTC(2026, 10, 23, 10), updated_at: '2026-11-23T10:00:01.000Z' },
    })
  })

  test('that the console does not show is left out', () => {
    expect(entriesOf({ ...keyOf('acme', 'order', '0192f3a4-5b6c-8d8e-9f01-23456789ab00') })).toEqual([])
  })
})

describe('a dead letter', () => {
  const url = 'http://queue/dead-letters'
  const letterOf = (MessageId: string) => ({ MessageId, Body: '{}', SentTimestamp: 7, IsVisible: true })
  const messages = { '000000000000': { 'us-east-1': { [url]: ['known', 'unknown'].map(letterOf) } } }
  let engine: HttpServer
  let folder: string
  let queues: ConsoleEntry[]
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'commerce-letters-'))
    const lineOf = (attempt: number, message: string) => {
      const line = JSON.stringify({ message_id: 'known', attempt, fault: { name: 'ValiError', message } })
      return `${JSON.stringify({ kind: 'log', at: attempt, function: 'f', line })}\n`
    }
    const file = join(folder, 'activity.jsonl')
    await writeFile(file, `${lineOf(4, 'amount: string')}${lineOf(5, 'amount: number')}`)
    engine = await startHttpServer((_, response) => response.end(JSON.stringify({ messages })))
    const known = links()
    await activityFeed(file, known).read()
    const outputs = { [deadLettersOutput('webhooks')]: url }
    const access = { aws_endpoint: engine.url, region: 'us-east-1', outputs }
    const keys = { access_key_id: 'local', secret_access_key: 'local' }
    queues = await queueFeed({ ...access, ...keys } as unknown as ServiceFile, known).read()
  })
  afterAll(async () => {
    await engine.stop()
    await rm(folder, { recursive: true })
  })

  test('has the reason and the number of its last attempt', () => {
    const queue = queues.find(({ id }) => id === 'webhooks')
    expect(queue?.dead_letters).toEqual([
      { id: 'known', at: 7000, body: '{}', reason: 'ValiError: amount: number', attempts: 5 },
      { id: 'unknown', at: 7000, body: '{}' },
    ])
  })
})

describe('the local run', () => {
  let folder: string
  let engine: HttpServer
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'commerce-feeds-'))
    const mail = { MessageId: 'ses-1', To: ['ada@example.com'], Subject: 'S', BodyText: 'T', Timestamp: 7 }
    const other = { ...mail, MessageId: 'ses-2' }
    const payout = { id: 're_1', created: 7, account: 'acct_1', charge: 'ch_1', amount: 5, currency: 'eur' }
    const metadata = { refund_id: 'r-1', tenant_id: 'acme' }
    engine = await startHttpServer((request, response) => {
      const answer = request.url?.startsWith('/refunds')
        ? { data: [{ ...payout, status: 'pending', metadata }] }
        : { messages: { '000000000000': [mail, other] } }
      response.end(JSON.stringify(answer))
    })
  })
  afterAll(async () => {
    await engine.stop()
    await rm(folder, { recursive: true })
  })

  test('links a mail to its request', async () => {
    const file = join(folder, 'mails.jsonl')
    const known = links()
    await writeFile(file, '{"kind":"mailed","id":"ses-1","message_id":"m-1"}\n')
    expect(await activityFeed(file, known).read()).toEqual([])
    known.mails.set('m-1', { correlation_id: 'c-1', state: 'sent' })
    const aws = {
      endpoint: engine.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'l' },
    }
    const shown = { kind: 'mail', at: 7000, to: 'ada@example.com', subject: 'S', text: 'T' }
    expect(await mailFeed(aws, known).read()).toEqual([
      { ...shown, id: 'ses-1', correlation_id: 'c-1', state: 'sent' },
      { ...shown, id: 'ses-2' },
    ])
  })

  test('links a refund of the provider to ours', async () => {
    const [payout] = await payoutFeed(engine.url).read()
    expect(payout).toMatchObject({
      kind: 'payout',
      id: 're_1',
      status: 'pending',
      refund_id: 'r-1',
      tenant: 'acme',
    })
  })

  describe('with more requests than are kept', () => {
    let source: LocalSource
    const at = Date.UTC(2026, 10, 23)
    beforeAll(async () => {
      const file = join(folder, 'requests.jsonl')
      const lines = Array.from({ length: 1200 }, (_, index) => {
        const correlation_id = `c-${index}`
        const error_code = index % 2 ? null : 'X'
        const log = {
          kind: 'log',
          at: at + index,
          function: 'f',
          line: JSON.stringify({ correlation_id, tenant: `t-${index % 3}` }),
        }
        const request = {
          kind: 'request',
          at: at + index,
          path: '/',
          status: index % 2 ? 200 : 404,
          error_code,
          correlation_id,
        }
        return [log, request].map((one) => `${JSON.stringify(one)}\n`).join('')
      })
      await writeFile(file, lines.join(''))
      const access = { base_url: engine.url, aws_endpoint: engine.url, region: 'us-east-1', outputs: {} }
      const keys = { access_key_id: 'local', secret_access_key: 'local' }
      source = localSource({ ...access, ...keys, table: 'table', event_bus: 'bus', webhook_secret: '' }, file)
    })
    afterAll(() => source.stop())

    test('reads all of them, the newest first', async () => {
      const found: (string | null | undefined)[] = []
      for (let cursor: string | undefined, complete = false; !complete; ) {
        const reading = await source.read({ kind: 'request', cursor })
        expect(reading.entries.length).toBeLessThanOrEqual(500)
        found.push(...reading.entries.map(({ correlation_id }) => correlation_id))
        ;({ cursor, complete } = reading)
      }
      expect(found).toEqual(Array.from({ length: 1200 }, (_, index) => `c-${1199 - index}`))
    })

    test.each([
      ['a tenant', { tenant: 't-1' }, 400],
      ['a class of statuses', { status: '4xx' }, 600],
      ['an error code', { code: 'X' }, 600],
      ['a correlation id', { correlation: 'c-7' }, 1],
      ['a time', { from: at + 10, to: at + 20 }, 10],
    ])('reads those of %s', async (_, filter, expected) => {
      const entries: ConsoleEntry[] = []
      for (let cursor: string | undefined, complete = false; !complete; ) {
        const reading = await source.read({ kind: 'request', ...filter, cursor })
        entries.push(...reading.entries)
        ;({ cursor, complete } = reading)
      }
      expect(entries).toHaveLength(expected)
    })
  })
})

describe('the console', () => {
  let folder: string
  let port: number
  let source: LocalSource
  let site: ServedSite
  let token: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'commerce-console-'))
    port = await freePort()
    const nobody = `http://127.0.0.1:${await freePort()}`
    const parts = { base_url: nobody, aws_endpoint: nobody, region: 'us-east-1', outputs: {} }
    const keys = { access_key_id: 'local', secret_access_key: 'local' }
    const service = { ...parts, ...keys, table: 'table', event_bus: 'bus', webhook_secret: '' }
    const log = {
      kind: 'log',
      at: 1,
      function: 'f',
      line: JSON.stringify({ correlation_id: 'a', code: 'X' }),
    }
    await writeFile(join(folder, 'activity.jsonl'), `${JSON.stringify(log)}\n{"kind":"requ`)
    source = localSource(service, join(folder, 'activity.jsonl'))
    const console = startConsole(source)
    const pages = await console.pages(
      new Map([['index.html', '<nav><a href="index.html">Reference</a></nav>']]),
    )
    site = await serveSite(pages, `http://localhost:${port}`, nobody, console.answer)
    const page = await (await fetch(`${site.url}console.html`)).text()
    token = /name="console-token" content="([\w-]{43})"/.exec(page)?.[1] ?? ''
  })
  afterAll(async () => {
    source.stop()
    await site.stop()
    await rm(folder, { recursive: true })
  })

  /** Sends a request with headers that `fetch` does not allow. */
  async function send(method: string, path: string, headers: Record<string, string>, body = '') {
    const sent = request({ port, host: 'localhost', method, path, headers })
    sent.end(body)
    const [answer] = await once(sent, 'response')
    return { status: answer.statusCode, body: await text(answer) }
  }
  const rejected = () => `open http://localhost:${port}/ (other hosts and origins are rejected)\n`
  const own = () => ({ Host: `localhost:${port}`, Origin: `http://localhost:${port}` })

  test('is linked from the other pages', async () => {
    expect(await (await fetch(site.url)).text()).toContain('<a href="console.html">Console</a>')
  })

  test.each(['https://evil.example', 'null'])('is not read by a page of %s', async (Origin) => {
    const answer = await send('GET', '/console/stream', { ...own(), Origin })
    expect(answer).toEqual({ status: 403, body: rejected() })
  })

  test.each(['console.html', 'index.html', 'console/stream'])(
    '%s is not served under another name of the machine',
    async (path) => {
      const answer = await send('GET', `/${path}`, { Host: `rebound.example:${port}` })
      expect(answer).toEqual({ status: 403, body: rejected() })
    },
  )

  test('names its address to those who open it by the address of the machine', async () => {
    const answer = await send('GET', '/', { Host: `127.0.0.1:${port}` })
    expect(answer).toEqual({ status: 403, body: rejected() })
  })

  test('names its address if there is no such page', async () => {
    const answer = await send('GET', '/nope', own())
    expect(answer).toEqual({
      status: 404,
      body: `there is no such page: open http://localhost:${port}/\n`,
    })
  })

  describe.each([
    ['redrive', 'webhooks'],
    ['resend', '{"tenant":"acme","id":"d-1"}'],
  ])('a %s', (action, body) => {
    test.each([
      ['without a token', {}],
      ['with a wrong token', { 'X-Console-Token': 'A'.repeat(43) }],
      ['with a token of another length', { 'X-Console-Token': 'A' }],
    ])('is rejected %s', async (_, headers) => {
      const answer = await send('POST', `/console/${action}`, { ...own(), ...headers }, body)
      expect(answer.status).toBe(403)
    })

    test.each(['https://evil.example', 'null'])('is rejected from the origin %s', async (Origin) => {
      const headers = { ...own(), Origin, 'X-Console-Token': token }
      const answer = await send('POST', `/console/${action}`, headers, body)
      expect(answer.status).toBe(403)
    })
  })

  test('says that a queue to redrive does not exist', async () => {
    const answer = await send('POST', '/console/redrive', { ...own(), 'X-Console-Token': token }, 'nothing')
    expect(answer).toEqual({ status: 500, body: expect.stringContaining('Nothing') })
  })

  test('sends complete log lines, and names the sources that it cannot read', async () => {
    const entries = await firstEntries(`${site.url}console/stream`, (all) =>
      ['log', 'problem'].every((kind) => all.some((entry) => entry.kind === kind && entry.text !== null)),
    )
    expect(entries.filter(({ kind }) => kind === 'log')).toEqual([
      {
        kind: 'log',
        id: '1',
        at: 1,
        function: 'f',
        correlation_id: 'a',
        fields: { correlation_id: 'a', code: 'X' },
      },
    ])
    expect(entries.find(({ kind, id }) => kind === 'problem' && id === 'requests')?.text ?? null).toBeNull()
  })
})

/** Reads server-sent events until the entries so far fulfil a condition. */
async function firstEntries(
  url: string,
  enough: (entries: ConsoleEntry[]) => boolean,
): Promise<ConsoleEntry[]> {
  const stopped = new AbortController()
  const response = await fetch(url, { signal: stopped.signal })
  const entries: ConsoleEntry[] = []
  let rest = ''
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const messages = `${rest}${chunk}`.split('\n\n')
    rest = messages.pop() ?? ''
    for (const message of messages) entries.push(...JSON.parse(message.replace(/^event: \w+\ndata: /, '')))
    if (enough(entries)) break
  }
  stopped.abort()
  return entries
}
