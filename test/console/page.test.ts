import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, Locator, Page } from 'playwright-core'
import type { ConsoleEntry } from '#bin/console/activity.ts'
import { type LocalSource, localSource } from '#bin/console/local.ts'
import { startConsole } from '#bin/console/server.ts'
import { serveSite } from '#bin/describe/reference/site.ts'
import { excessWidth, violations } from '#test/support/accessibility.ts'
import { startBrowser } from '#test/support/browser.ts'
import { freePort } from '#test/support/free-port.ts'
import { runsAll } from '#test/support/runs.ts'

const phone = { width: 390, height: 844 }
const desktop = { width: 1440, height: 900 }
const cursor = 'a1b2'.repeat(100)
const long = 'x'.repeat(2000)

function requestOf(id: string, more: Partial<ConsoleEntry> = {}): ConsoleEntry {
  const [sent, answer] = ['{"amount_minor":9007199254740993}', '{"id":"o-1"}']
  return {
    kind: 'request',
    ...{ id, at: Date.UTC(2026, 10, 23), method: 'POST', path: '/v1/orders', status: 201, milliseconds: 34 },
    ...{ error_code: null, correlation_id: `correlation-${id}`, idempotency_status: 'stored' },
    request: {
      headers: { authorization: 'hidden', 'idempotency-key': 'first' },
      ...{ body: sent, bytes: sent.length },
    },
    response: { headers: { 'content-type': 'application/json' }, body: answer, bytes: 40_000 },
    ...more,
  }
}
const logOf = (id: string, tenant: string): ConsoleEntry => {
  const correlation_id = `correlation-${id}`
  return { kind: 'log', id: `log-${id}`, at: 0, correlation_id, fields: { tenant, code: 'REQUEST_ANSWERED' } }
}
const common = { at: 0, occurred_at: 0, updated_at: 0, tenant: 'acme', correlation_id: 'correlation-order' }
const counts = { succeeded: 2, failed: 1 }
const dead = { id: 'm-1', at: 0, body: long, reason: 'ValiError: amount_minor: number', attempts: 5 }
const subscriber: ConsoleEntry = {
  ...{ kind: 'subscriber', id: 's-1', tenant: 'acme', url: `https://a.example/${long}` },
  ...{ events: ['order.*'], state: 'active' },
}
const attempts = [
  { at: '2026-11-23T00:00:00.000Z', milliseconds: 15_000, reason: 'timeout' },
  { at: '2026-11-23T00:00:05.000Z', milliseconds: 20, status: 500, reason: 'status', answer: 'out of disk' },
]
const failed: ConsoleEntry = {
  ...{ ...common, kind: 'delivery', id: 'd-1', subscriber_id: 's-1', event_id: 'e-1', type: 'order.created' },
  ...{ body: '{"data":{}}', state: 'failed', attempted: 2, attempts },
}
const refund = (id: string, more: object): ConsoleEntry => ({
  ...{
    kind: 'refund',
    id,
    tenant: 'acme',
    charge_id: `ch_${id}`,
    amount: 2250,
    currency: 'EUR',
    account: 'acct_1',
  },
  ...{ at: 1000, status: 'succeeded', provider_refund_id: `re_${id}`, ...more },
})
const refundRequest = {
  ...{ method: 'POST', path: '/v1/refunds', status: 201, at: 900, correlation_id: 'correlation-refund' },
  response: { headers: {}, body: '{"id":"paid"}', bytes: 13 },
}
const report = {
  ...{
    method: 'POST',
    path: '/v1/webhooks/stripe',
    status: 202,
    at: 3000,
    correlation_id: 'correlation-report',
  },
  request: { headers: {}, body: '{"data":{"object":{"id":"re_paid"}}}', bytes: 36 },
}
/** A refund with all that happened to it, and others in each status. */
const refunds: ConsoleEntry[] = [
  refund('paid', { updated_at: new Date(3100).toISOString() }),
  refund('declined', { status: 'failed', provider_refund_id: undefined, currency: undefined }),
  refund('waiting', { status: 'pending' }),
  refund('asked', { status: 'pending', provider_refund_id: undefined, currency: undefined }),
  refund('reversed', { status: 'reversed', currency: 'JPY' }),
  refund('dinar', { currency: 'KWD' }),
  refund('krona', { currency: 'ISK' }),
  refund('ariary', { currency: 'MGA' }),
  {
    ...{ kind: 'payout', id: 're_paid', at: 2000, refund_id: 'paid', tenant: 'acme', account: 'acct_1' },
    ...{ charge: 'ch_paid', amount: 2250, currency: 'eur', status: 'succeeded' },
  },
  {
    ...{ kind: 'payout', id: 're_failed', at: 2000, tenant: 'acme', account: 'acct_1', charge: 'ch_2' },
    ...{ amount: 5, currency: 'eur', status: 'failed' },
  },
  {
    ...{ kind: 'ledger', id: 'paid#payout', at: 3200, refund_id: 'paid', tenant: 'acme', account: 'acct_1' },
    ...{
      provider_refund_id: 're_paid',
      charge_id: 'ch_paid',
      booking: 'payout',
      amount: 2250,
      currency: 'EUR',
    },
  },
  {
    ...{
      kind: 'ledger',
      id: 'paid#reversal',
      at: 4000,
      refund_id: 'paid',
      tenant: 'acme',
      account: 'acct_1',
    },
    ...{
      provider_refund_id: 're_paid',
      charge_id: 'ch_paid',
      booking: 'reversal',
      amount: -2250,
      currency: 'EUR',
    },
  },
  {
    ...{ kind: 'audit', id: 'a-2', at: 950, action: 'refund', target: 'refund/paid', actor_id: 'u-1' },
    ...{ tenant_id: 'acme', result: 'allow', reason: 'allowed', correlation_id: 'correlation-refund' },
  },
]
const shown: ConsoleEntry[] = [
  requestOf('order'),
  requestOf('replayed', { idempotency_status: 'replayed', correlation_id: 'correlation-order' }),
  requestOf('list', { method: 'GET', path: `/v1/orders?page_size=2&cursor=${cursor}`, status: 200 }),
  requestOf('denied', { status: 403, error_code: 'AUTHZ.role.denied' }),
  requestOf('markup', { path: '/<img src=x onerror=alert(1)>', status: 404 }),
  logOf('order', 'acme'),
  logOf('list', 'acme'),
  logOf('denied', 'globex'),
  {
    ...common,
    kind: 'event',
    id: 'e-1',
    type: 'order.created',
    version: 1,
    data: { tenant_id: 'acme', long },
  },
  subscriber,
  failed,
  { ...common, kind: 'audit', id: 'a-1', action: 'orders.create', result: 'allow', reason: 'by role' },
  { ...common, kind: 'mail', id: 'm-1', to: 'ada@example.com', subject: 'Your code', text: 'It is 123456.' },
  ...refunds,
  {
    ...common,
    kind: 'operation',
    id: 'op-1',
    progress: 0.5,
    state: 'failed',
    counts,
    reason: 'VALIDATION.csv',
  },
  { kind: 'queue', id: 'webhooks', waiting: 0, in_progress: 1, dead_letters: [dead] },
]

let source: LocalSource
let site: Awaited<ReturnType<typeof serveSite>>
let browser: Browser
let page: Page
const errors: string[] = []
let streams: ServerResponse[] = []
const actions: { url: string | undefined; body: string; token: unknown }[] = []
/** The readings that the page has asked for. */
const asked: string[] = []
const push = (...entries: ConsoleEntry[]) => {
  for (const stream of streams) stream.write(`event: changed\ndata: ${JSON.stringify(entries)}\n\n`)
}

beforeAll(async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`
  const parts = { base_url: nobody, aws_endpoint: nobody, region: 'us-east-1', outputs: {} }
  const keys = { access_key_id: 'local', secret_access_key: 'local' }
  const service = { ...parts, ...keys, table: 'table', event_bus: 'bus', webhook_secret: '' }
  source = localSource(service, '/nonexistent/activity.jsonl')
  const console = startConsole(source)
  const style = await readFile(join(import.meta.dirname, '../../bin/describe/reference/style.css'), 'utf8')
  const pages = await console.pages(new Map([['style.css', style]]))
  site = await serveSite(pages, `http://localhost:${await freePort()}`, nobody, (request, response) => {
    if (request.url === '/console/stream') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(`event: all\ndata: ${JSON.stringify(shown)}\n\n`)
      streams.push(response)
      return true
    }
    if (request.url?.startsWith('/console/read')) {
      asked.push(request.url)
      const entries = [requestOf('older', { at: 0 })]
      response.end(JSON.stringify({ entries, complete: true, units: 0, calls: 0, milliseconds: 1 }))
      return true
    }
    if (request.method !== 'POST') return console.answer(request, response)
    void text(request).then((body) => {
      actions.push({ url: request.url, body, token: request.headers['x-console-token'] })
      response.writeHead(204).end()
    })
    return true
  })
  browser = await startBrowser()
})
afterAll(async () => {
  source?.stop()
  await browser?.close()
  await site?.stop()
})

/** Opens a new page for each test of a describe block. */
function withPage() {
  beforeEach(async () => {
    streams = []
    page = await open()
  })
  afterEach(() => page.close())
}

async function open(address = '', options: Parameters<Browser['newPage']>[0] = { viewport: desktop }) {
  const opened = await browser.newPage(options)
  opened.setDefaultTimeout(200_000)
  opened.on('pageerror', ({ message }) => errors.push(message))
  await opened.goto(`${site.url}console.html${address}`)
  await opened.locator('table[data-kind=request] tbody tr').first().waitFor({ state: 'attached' })
  return opened
}
const rowOf = (kind: string, id: string) => page.locator(`table[data-kind=${kind}] tr[data-id=${id}]`)
const detail = () => page.locator('#detail')

describe('a click on a request', () => {
  withPage()
  beforeEach(async () => {
    await rowOf('request', 'order').click()
  })

  test('shows its headers, with secrets hidden', async () => {
    await detail().getByText('2 headers').first().click()
    const headers = await detail().locator('details[open] dl').innerText()
    expect(headers.split('\n')).toEqual(['authorization', 'hidden', 'idempotency-key', 'first'])
  })

  test.each([
    ['the number in its body as it was sent', 'pre', '"amount_minor": 9007199254740993\n'],
    ['that its response is cut', '.block + .hint', 'The start of 40000 bytes.'],
    ['that its response was stored', 'dl', /Idempotency\s+stored/],
  ])('shows %s', async (_, part, shown) => {
    const [first] = await detail().locator(part).allInnerTexts()
    expect(first).toMatch(shown)
  })

  test.each([
    ['Other requests', 'request', 'POST /v1/orders 201 replayed'],
    ['Events', 'event', 'order.created v1'],
    ['Deliveries', 'delivery', 'order.created failed 500, 20 ms'],
    ['Audit records', 'audit', 'orders.create allow: by role'],
    ['Operations', 'operation', 'op-1 failed VALIDATION.csv'],
    ['Log lines', 'log', 'REQUEST_ANSWERED'],
  ])('shows the %s of its correlation id', async (title, kind, line) => {
    await detail().getByText(`${title} (1)`).waitFor()
    expect(await detail().locator(`ol[data-kind=${kind}]`).innerText()).toContain(line)
  })

  test('shows what follows later, and keeps what is open', async () => {
    await detail().locator('ol[data-kind=event] summary').click()
    push({ ...common, kind: 'event', id: 'e-2', type: 'order.placed', version: 1, data: {} })
    await detail().getByText('Events (2)').waitFor()
    expect(await detail().locator('ol[data-kind=event] details[open]').count()).toBe(1)
  })

  test('leads to the list of its correlation id alone', async () => {
    await detail().getByText('show only this').click()
    await page.getByText('2 of 5').waitFor()
  })
})

describe('the page', () => {
  withPage()

  test('a replay is shown as one', async () => {
    await rowOf('request', 'replayed').click()
    expect(await detail().locator('dl').first().innerText()).toMatch(/Idempotency\s+replayed/)
  })

  test('a long query takes one line of the list, and the detail shows it', async () => {
    const heightOf = async (id: string) => (await rowOf('request', id).boundingBox())?.height
    expect(await heightOf('list')).toBe(await heightOf('order'))
    await rowOf('request', 'list').click()
    await detail().locator('summary', { hasText: 'a1b2' }).click()
    await detail().getByText(cursor, { exact: true }).waitFor()
  })

  test('text of callers is shown as text', async () => {
    await rowOf('request', 'markup').click()
    await detail().getByText('/<img src=x onerror=alert(1)>').first().waitFor()
    expect(await page.locator('img').count()).toBe(0)
  })

  test.each([
    ['operations', 'operation', 'VALIDATION.csv'],
    ['queues', 'queue', 'ValiError: amount_minor: number after 5 attempts'],
  ])('%s show why they failed', async (tab, kind, reason) => {
    await page.click(`#tab-${tab}`)
    await page.locator(`table[data-kind=${kind}] tbody`).getByText(reason).waitFor()
  })

  test('a redrive is sent with the token of the page', async () => {
    await page.click('#tab-queues')
    await page.getByRole('button', { name: 'Redrive' }).click()
    await page.getByText('Redriven').waitFor()
    const token = await page.locator('meta[name=console-token]').getAttribute('content')
    expect(actions).toEqual([{ url: '/console/redrive', body: 'webhooks', token }])
  })
})

describe('money', () => {
  withPage()
  beforeEach(() => page.click('#tab-money'))
  const historyOf = async (kind: string, id: string) => {
    push(requestOf('rf', refundRequest), requestOf('rp', report))
    await rowOf(kind, id).locator('.open').click()
    await detail().getByText('report of the provider').waitFor()
    const steps = await detail().locator('.history p').allInnerTexts()
    return steps.map((step) => step.replace(/^\S+ \S+ /, '').trim())
  }
  const history = [
    'request: POST /v1/refunds 201',
    'audit: refund by u-1, allow',
    'refund requested: 22.50 EUR',
    'provider: re_paid, now succeeded',
    'report of the provider: POST /v1/webhooks/stripe 202',
    'outcome: succeeded, paid',
    'ledger: payout of 22.50 EUR',
    'ledger: reversal of -22.50 EUR',
  ]

  test.each([
    ['paid', '22.50 EUR'],
    ['reversed', '2250 JPY'],
    ['dinar', '2.250 KWD'],
    ['krona', '22.50 ISK'],
    ['ariary', '2250 MGA'],
    ['asked', '2250 minor units'],
  ])('of a %s refund is shown as %s', async (id, amount) => {
    expect(await rowOf('refund', id).locator('td.number').innerText()).toBe(amount)
  })

  test.each([
    ['paid', 'succeeded paid'],
    ['declined', 'failed refused: there is no payout'],
    ['asked', 'pending the provider has not answered yet'],
    ['waiting', 'pending accepted by the provider, not settled yet'],
    ['reversed', 'reversed paid, and taken back by the provider'],
  ])('of a %s refund is shown for what it is', async (id, meaning) => {
    await rowOf('refund', id).locator('.open').click()
    expect(await detail().locator('dd').first().innerText()).toBe(meaning)
  })

  test('that the provider did not pay is not shown as paid', async () => {
    expect(await rowOf('payout', 're_failed').innerText()).toContain('failed')
    expect(await page.innerText('section:not([hidden])')).not.toMatch(/Paid at/)
  })

  test('has the history of a refund', async () => {
    expect(await historyOf('refund', 'paid')).toEqual(history)
  })

  test('of the provider has the same history', async () => {
    expect(await historyOf('payout', 're_paid')).toEqual(history)
  })

  test('of a refund leads to that of the provider, and back', async () => {
    await rowOf('refund', 'paid').getByRole('button', { name: 're_paid' }).click()
    await detail().getByText('Provider’s refund re_paid').waitFor()
    await detail().locator('dl').getByRole('button', { name: 'paid' }).click()
    await detail().getByText('Refund paid').waitFor()
  })

  test('is under the correlation id of its request', async () => {
    push(requestOf('rf', refundRequest))
    await page.click('#tab-requests')
    await rowOf('request', 'rf').locator('.open').click()
    for (const title of ['Refunds (1)', 'Refunds at the provider (1)', 'Bookings in the ledger (2)'])
      await detail().getByText(title, { exact: true }).waitFor()
  })
})

describe('a mail', () => {
  withPage()

  test('is under the correlation id of its request', async () => {
    await rowOf('request', 'order').click()
    await detail().getByText('Mails (1)').waitFor()
  })
})

describe('more entries than the newest 500', () => {
  withPage()
  const many = Array.from({ length: 600 }, (_, at) =>
    requestOf(`m-${at}`, { at: Date.UTC(2026, 11, 1) + at }),
  )

  test('are said to exist, and read from their source', async () => {
    push(...many)
    await page.getByText('The newest 500 are shown.').waitFor()
    await page.getByRole('button', { name: 'Read older ones' }).click()
    await rowOf('request', 'older').waitFor({ state: 'attached' })
    expect(asked).toEqual(['/console/read?kind=request'])
    expect(await page.locator('table[data-kind=request] tbody tr').last().getAttribute('data-id')).toBe(
      'older',
    )
  })
})

describe('a failed delivery', () => {
  withPage()
  beforeEach(() => {
    actions.length = 0
  })

  /** Clicks, and counts it. */
  const click = async (...found: Locator[]) => {
    for (const one of found) await one.click()
    return found.length
  }
  const resend = () => detail().getByRole('button', { name: 'Resend' })

  test('of several versions that arrive together, the last one is shown', async () => {
    await page.click('#tab-deliveries')
    push({ ...failed, state: 'waiting' }, { ...failed, state: 'succeeded' })
    await rowOf('delivery', 'd-1')
      .getByText(/waiting|succeeded/)
      .waitFor()
    expect(await rowOf('delivery', 'd-1').innerText()).toContain('succeeded')
  })

  test('is understood and resent in three clicks', async () => {
    const clicks = await click(page.locator('#tab-deliveries'), rowOf('delivery', 'd-1'))
    expect(await detail().innerText()).toMatch(/it answered with an error[\s\S]*500, 20 ms[\s\S]*out of disk/)
    expect(clicks + (await click(resend()))).toBeLessThanOrEqual(3)
    await detail().getByRole('button', { name: 'Resent' }).waitFor()
    expect(actions.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([
      ['/console/resend', { tenant: 'acme', id: 'd-1' }],
    ])
  })

  test('is understood and resent in three clicks from its request', async () => {
    const line = detail().locator('ol[data-kind=delivery] summary').first()
    const clicks = await click(rowOf('request', 'order'), line)
    expect(await detail().locator('ol[data-kind=delivery]').innerText()).toContain('out of disk')
    expect(clicks + (await click(resend()))).toBeLessThanOrEqual(3)
    await detail().getByRole('button', { name: 'Resent' }).waitFor()
    expect(actions).toHaveLength(1)
  })

  test('shows its attempts, the latest first', async () => {
    await click(page.locator('#tab-deliveries'), rowOf('delivery', 'd-1'))
    const lines = await detail().locator('.attempts p:not(.hint)').allInnerTexts()
    expect(lines.map((line) => line.replace(/^\S+ \S+ /, ''))).toEqual(['500, 20 ms', 'timeout, 15000 ms'])
  })

  test('shows the attempt that follows, and keeps the focus on its button', async () => {
    await click(page.locator('#tab-deliveries'), rowOf('delivery', 'd-1'))
    await resend().focus()
    const later = [...attempts, { at: '2026-11-23T00:01:00.000Z', milliseconds: 9, status: 204 }]
    push({ ...failed, state: 'succeeded', attempted: 3, attempts: later })
    await detail().getByText('204, 9 ms').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Resend')
  })

  const next_at = new Date(2026, 10, 23, 12, 30).getTime()
  const waiting = { ...failed, state: 'waiting', next_at }
  test('shows when it is sent next', async () => {
    await click(page.locator('#tab-deliveries'))
    push(waiting)
    await rowOf('delivery', 'd-1').getByText('12:30:00.000').waitFor()
  })

  test('says that its subscriber is paused', async () => {
    await click(page.locator('#tab-deliveries'), rowOf('delivery', 'd-1'))
    push({ ...subscriber, state: 'paused' })
    await detail().getByText('paused').waitFor()
  })
})

describe('the filters', () => {
  withPage()
  const idsOf = async () => {
    const rows = await page.locator('table[data-kind=request] tbody tr:visible').all()
    return Promise.all(rows.map((row) => row.getAttribute('data-id')))
  }

  const choose = (name: string, value: string) => () => page.selectOption(`select[name=${name}]`, value)
  const type =
    (value: string, name = 'correlation') =>
    () =>
      page.fill(`input[name=${name}]`, value)
  test.each([
    ['tenant', type('acme', 'tenant'), ['list', 'replayed', 'order']],
    ['class of statuses', choose('status', '4xx'), ['markup', 'denied']],
    ['status', choose('status', '404'), ['markup']],
    ['part of a correlation id', type('n-ord'), ['replayed', 'order']],
    ['part of a path', type('v1/orders?', 'path'), ['list']],
    ['part of an error code', type('role', 'code'), ['denied']],
  ])('show requests by a %s', async (_, filter, ids) => {
    await filter()
    expect(await idsOf()).toEqual(ids)
  })

  test('say how much they show', async () => {
    await choose('status', '4xx')()
    expect(await page.locator('.shown').innerText()).toBe('2 of 5')
  })

  test('apply to what arrives later', async () => {
    await type('globex', 'tenant')()
    push(requestOf('later'), requestOf('other'))
    push(logOf('later', 'globex'), logOf('other', 'acme'))
    await rowOf('request', 'later').waitFor()
    expect(await idsOf()).toEqual(['later', 'denied'])
  })

  test('are kept by a reload', async () => {
    await choose('status', '4xx')()
    await type('globex', 'tenant')()
    await page.reload()
    await page.getByText('1 of 5').waitFor()
    expect(await idsOf()).toEqual(['denied'])
  })

  test('of tenants are kept by another tab', async () => {
    await type('globex', 'tenant')()
    await page.click('#tab-events')
    await page.getByRole('tabpanel', { name: 'Events' }).getByText('Nothing matches the filters.').waitFor()
  })

  test('are cleared by a button', async () => {
    await type('none')()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    expect(await idsOf()).toHaveLength(5)
  })
})

describe('by keyboard', () => {
  withPage()
  const focused = () => page.evaluate('document.activeElement.id')

  test.each([
    ['Enter opens the detail', 'open-request-order', ['Enter'], 'detail'],
    ['Escape returns the focus', 'open-request-order', ['Enter', 'Escape'], 'open-request-order'],
    ['an arrow goes to the next row', 'open-request-markup', ['ArrowDown'], 'open-request-denied'],
    ['an arrow goes to the next tab', 'tab-requests', ['ArrowRight'], 'tab-events'],
  ])('%s', async (_, from, keys, to) => {
    await page.focus(`#${from}`)
    for (const key of keys) await page.keyboard.press(key)
    await detail().waitFor({ state: to === 'detail' ? 'visible' : 'hidden' })
    expect(await focused()).toBe(to)
  })

  test('a row that changes keeps the focus', async () => {
    await page.focus('#open-request-order')
    push(requestOf('order', { milliseconds: 99 }))
    await rowOf('request', 'order').getByText('99 ms').waitFor()
    expect(await focused()).toBe('open-request-order')
  })
})

/** Returns the tables that are wider than their section. */
const wideTables = `[...document.querySelectorAll('table')].filter(({ scrollWidth, parentElement }) =>
  scrollWidth > parentElement.clientWidth).map(({ dataset }) => dataset.kind)`
const dark = { colorScheme: 'dark' as const }
const looks: [string, Parameters<Browser['newPage']>[0]][] = [
  ['a phone in the dark', { viewport: phone, ...dark }],
]
if (runsAll)
  looks.push(
    ['a phone', { viewport: phone }],
    ['a desktop', { viewport: desktop }],
    ['a desktop in the dark', { viewport: desktop, ...dark }],
  )

describe.each(looks)('on %s', (_, options) => {
  beforeAll(async () => {
    page = await open('', options)
  })
  afterAll(() => page.close())

  const expectGood = async () => {
    expect(await excessWidth(page)).toBe(0)
    expect(await page.evaluate(wideTables)).toEqual([])
    expect(await violations(page)).toEqual([])
  }

  test.each(['requests', 'events', 'deliveries', 'mail', 'money', 'operations', 'queues', 'audit'])(
    '%s fit and are accessible',
    async (tab) => {
      await page.click(`#tab-${tab}`)
      await expectGood()
    },
  )

  test.each([
    ['requests', 'request', 'list'],
    ['events', 'event', 'e-1'],
    ['deliveries', 'delivery', 'd-1'],
    ['operations', 'operation', 'op-1'],
    ['money', 'refund', 'paid'],
    ['mail', 'mail', 'm-1'],
    ['audit', 'audit', 'a-1'],
  ])('the detail of %s fits and is accessible', async (tab, kind, id) => {
    await page.click(`#tab-${tab}`)
    await rowOf(kind, id).locator('.open').click()
    for (const summary of await detail().locator('summary').all()) await summary.click()
    await expectGood()
    await page.keyboard.press('Escape')
  })
})

test('no page reported an error', () => {
  expect(errors).toEqual([])
})
