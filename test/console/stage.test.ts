import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { NothingFoundError } from '#bin/commands/ask/timeline.ts'
import type { ConsoleEntry } from '#bin/console/activity.ts'
import { startConsole } from '#bin/console/server.ts'
import type { Question, Reading, Source } from '#bin/console/source.ts'
import { type ServedSite, serveSite } from '#bin/describe/reference/site.ts'
import { excessWidth, violations } from '#test/support/accessibility.ts'
import { startBrowser } from '#test/support/browser.ts'
import { freePort } from '#test/support/free-port.ts'

const at = Date.UTC(2026, 10, 23, 12)
const auditOf = (id: string, more: object = {}): ConsoleEntry => ({
  ...{ kind: 'audit', id, at: new Date(at).toISOString(), action: 'update', target: 'code/c-1' },
  ...{ actor_id: 'u-1', role: 'Editor', tenant_id: 'acme', result: 'allow', reason: 'allowed' },
  ...more,
})
const requestOf = (id: string): ConsoleEntry => ({
  ...{ kind: 'request', id, at, method: 'POST', path: '/v1/orders', status: 503, milliseconds: 3 },
  ...{ error_code: 'DEPENDENCY.unavailable', correlation_id: 'c-1', tenant: 'acme' },
})

/** What was asked, in turn. */
let asked: (Question | { what: string })[] = []
/** Aborts when the page no longer waits for the last answer. */
let abandoned: AbortSignal | undefined
/** Answers wait for it. */
let gate: Promise<void> | undefined
let answers: Partial<Record<string, Omit<Reading, 'units' | 'calls'>>> = {}
const source: Source = {
  stack: 'commerce-prod',
  readable: { audit: 'with a tenant', request: 'always', refund: 'always', ledger: 'with a tenant' },
  async read(question, signal) {
    asked.push(question)
    abandoned = signal
    await gate
    return { entries: [], complete: true, ...answers[question.kind], units: 12, calls: 3 }
  },
  async find(what, range) {
    asked.push({ what, ...range })
    if (what === 'nothing') throw new NothingFoundError('nothing was found')
    const found: ConsoleEntry = {
      kind: 'found',
      id: 'audit a-1',
      what: 'audit',
      found_id: 'a-1',
      at,
      summary: 'update of code/c-1',
    }
    return { entries: [{ ...found, data: {} }], complete: true, units: 4, calls: 2 }
  },
  actions: {},
}

let site: ServedSite
let port: number
let token: string
let browser: Browser
let page: Page
const errors: string[] = []
beforeAll(async () => {
  port = await freePort()
  const served = startConsole(source)
  token = served.token
  site = await serveSite(await served.page(), `http://127.0.0.1:${port}`, undefined, served.answer)
  browser = await startBrowser()
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
})
beforeEach(() => {
  asked = []
  answers = {}
  gate = undefined
  abandoned = undefined
})

describe('the server', () => {
  const own = () => ({ Host: `127.0.0.1:${port}` })
  async function send(path: string, headers: Record<string, string>, method = 'GET') {
    const sent = request({ port, host: '127.0.0.1', method, path, headers })
    sent.end()
    const [answer] = await once(sent, 'response')
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
  }

  test('gives the page without the token', async () => {
    const { status, body } = await send('/console.html', own())
    expect(status).toBe(200)
    expect(body).not.toContain(token)
  })

  test.each(['/console/about', '/console/read?kind=request', '/console/find?what=c-1'])(
    'answers %s only with the token',
    async (path) => {
      const sent = ['', 'A'.repeat(43), 'A', `${token}A`].map((one) =>
        send(path, { ...own(), 'X-Console-Token': one }),
      )
      const statuses = (await Promise.all(sent)).map(({ status }) => status)
      expect(statuses).toEqual([403, 403, 403, 403])
      expect(asked).toEqual([])
      expect((await send(path, { ...own(), 'X-Console-Token': token })).status).toBe(200)
    },
  )

  test('takes no token from the address or a cookie', async () => {
    const headers = { ...own(), Cookie: `console=${token}; X-Console-Token=${token}` }
    expect((await send(`/console/read?kind=request&token=${token}`, headers)).status).toBe(403)
  })

  test.each([
    ['a name that resolves to this machine', { Host: 'rebound.example' }],
    ['another name of this machine', { Host: 'localhost' }],
    ['a page of another origin', { Origin: 'https://evil.example' }],
    ['a page of another port', { Origin: 'http://127.0.0.1:1' }],
  ])('rejects %s, with the token', async (_, headers) => {
    const host = 'Host' in headers ? { Host: `${headers.Host}:${port}` } : own()
    const answer = await send('/console/read?kind=request', {
      ...host,
      ...headers,
      ...host,
      'X-Console-Token': token,
    })
    expect(answer.status).toBe(403)
    expect(asked).toEqual([])
  })

  test('lets no other origin read or embed what it answers, and sends no referrer', async () => {
    const answers = await Promise.all([
      send('/console.html', own()),
      send('/console/about', { ...own(), 'X-Console-Token': token }),
    ])
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBeUndefined()
      expect(headers['cache-control']).toBe('no-store')
      expect(headers['x-content-type-options']).toBe('nosniff')
    }
    const [{ headers }] = answers
    expect(headers['referrer-policy']).toBe('no-referrer')
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
    )
    expect(headers['content-security-policy']).not.toContain('unsafe')
  })

  test.each(['redrive', 'resend'])('has no action %s', async (action) => {
    const headers = { ...own(), Origin: `http://127.0.0.1:${port}`, 'X-Console-Token': token }
    const { status } = await send(`/console/${action}`, headers, 'POST')
    expect(status).toBe(404)
  })

  test('answers 404 if nothing is found', async () => {
    const { status } = await send('/console/find?what=nothing', { ...own(), 'X-Console-Token': token })
    expect(status).toBe(404)
  })

  test.each([
    ['a kind that it cannot read', 'read?kind=mail'],
    ['a kind that needs a tenant', 'read?kind=audit'],
    ['a time that is none', 'read?kind=request&from=yesterday'],
    ['nothing to find', 'find?what=%20'],
  ])('rejects %s', async (_, path) => {
    const { status } = await send(`/console/${path}`, { ...own(), 'X-Console-Token': token })
    expect([status, asked]).toEqual([400, []])
  })
})

/** Opens a page, and waits until it has read what its address names. */
async function open(hash: string, context = browser.newContext({ timezoneId: 'Europe/Berlin' })) {
  page = await (await context).newPage()
  page.setDefaultTimeout(200_000)
  page.on('pageerror', ({ message }) => errors.push(message))
  await page.goto(`${site.url}console.html${hash}`)
  await page.waitForSelector('#connection:not(:text("connecting"))')
}
/** Opens an address as a user who has opened the link before. */
async function openAt(address: string) {
  await open(`#token=${token}&${address}`)
  await page.waitForSelector('section:not([hidden])')
}
afterEach(() => page?.context().close())
const range = 'from=2026-11-23T11:00:00.000Z&to=2026-11-23T13:00:00.000Z'
const times = { from: Date.UTC(2026, 10, 23, 11), to: Date.UTC(2026, 10, 23, 13) }
/** Waits until this many questions have reached the server. */
const reached = async (count: number) => {
  while (asked.length < count) await page.waitForTimeout(10)
}
const status = (kind: string) => page.locator(`table[data-kind=${kind}] + .reading`)

describe('the link', () => {
  test('opens the page, which keeps the token out of its address', async () => {
    await openAt('audit?tenant=acme')
    expect(page.url()).not.toContain(token)
    expect(new URL(page.url()).hash).toMatch(/^#audit\?tenant=acme/)
    expect(await page.innerText('#connection')).toBe('commerce-prod, read only')
  })

  test('is needed once: a reload and other addresses work', async () => {
    await openAt(`requests?${range}`)
    await reached(1)
    await page.reload()
    await reached(2)
    await open(`#audit?tenant=acme&${range}`, Promise.resolve(page.context()))
    await reached(3)
    expect(asked.map((question) => 'kind' in question && question.kind)).toEqual([
      'request',
      'request',
      'audit',
    ])
  })

  test('says what to do without a token, and reads nothing', async () => {
    await open(`#audit?tenant=acme&${range}`)
    await page.getByText('open the link that the command has printed').waitFor()
    expect(asked).toEqual([])
  })
})

describe('a view', () => {
  test('reads what its address names, once', async () => {
    answers.audit = { entries: [auditOf('a-1')], complete: true }
    await openAt(`audit?tenant=acme&actor=u-1&action=update&target=code&status=allow&${range}`)
    await status('audit').getByText('1 read: 12 read units, 3 calls').waitFor()
    expect(await status('audit').innerText()).toContain('These are all.')
    const filters = { tenant: 'acme', actor: 'u-1', action: 'update', target: 'code', status: 'allow' }
    expect(asked).toEqual([{ kind: 'audit', ...filters, ...times }])
  })

  test('reads the last hour unless it names a time, and keeps that in its address', async () => {
    const before = Date.now()
    await openAt('requests')
    await page.waitForFunction(`location.hash.includes('from=')`)
    await reached(1)
    const [{ from = 0, to = 0 } = {}] = asked as Question[]
    expect([to - from, to >= before]).toEqual([3_600_000, true])
  })

  test('asks for a tenant before it reads what a tenant has', async () => {
    await openAt(`audit?${range}`)
    await page.getByText('Name a tenant and read.').waitFor()
    expect(asked).toEqual([])
    await page.fill('input[name=tenant]', 'acme')
    expect(asked).toEqual([])
    await page.getByRole('button', { name: 'Read', exact: true }).click()
    await page.getByText('There are none in this time.').waitFor()
    expect(asked).toEqual([{ kind: 'audit', tenant: 'acme', ...times }])
  })

  test.each(['events', 'mail'])('of %s says that a stage has no list, and how to find one', async (tab) => {
    await openAt(`${tab}?${range}`)
    await page.getByText('A stage keeps no list of these: find a correlation id').waitFor()
    expect(asked).toEqual([])
  })

  test('reads what is pending in any tenant however old it is', async () => {
    await openAt(`money?${range}`)
    await page.getByText('the refunds of all tenants that are pending, however old').waitFor()
    expect(asked).toEqual([{ kind: 'refund', to: times.to }])
  })

  test('reads again when it is asked, also for the same', async () => {
    await openAt(`requests?${range}`)
    await page.getByText('There are none in this time.').waitFor()
    answers.request = { entries: [requestOf('r-1')], complete: true }
    await page.getByRole('button', { name: 'Read', exact: true }).click()
    await page.locator('tr[data-id=r-1]').waitFor()
    expect(asked).toHaveLength(2)
  })

  test('goes on reading if it is asked for the same before the end', async () => {
    const reading = Promise.withResolvers<void>()
    gate = reading.promise
    answers.request = { entries: [requestOf('r-1')], complete: true }
    await openAt(`requests?${range}`)
    for (const _ of [1, 2]) await page.getByRole('button', { name: 'Read', exact: true }).click()
    reading.resolve()
    await page.locator('tr[data-id=r-1]').waitFor()
    expect(asked).toHaveLength(1)
  })

  test('does not wait for what it no longer shows', async () => {
    const reading = Promise.withResolvers<void>()
    gate = reading.promise
    await openAt(`requests?${range}`)
    while (!abandoned) await page.waitForTimeout(10)
    const ended = once(abandoned, 'abort')
    await page.fill('input[name=code]', 'DEPENDENCY')
    await page.getByRole('button', { name: 'Read', exact: true }).click()
    await ended
    reading.resolve()
    await page.getByText('There are none in this time.').waitFor()
    expect(asked).toMatchObject([{ kind: 'request' }, { kind: 'request', code: 'DEPENDENCY' }])
  })

  test('says that it shows a sample', async () => {
    answers.request = { entries: [requestOf('r-1')], complete: false }
    await openAt(`requests?${range}`)
    await status('request').getByText('This is a sample').waitFor()
    expect(await page.getByRole('button', { name: 'Read older ones' }).count()).toBe(0)
  })

  test('reads older ones from where it stopped', async () => {
    answers.audit = { entries: [auditOf('a-2')], complete: false, cursor: 'next' }
    await openAt(`audit?tenant=acme&${range}`)
    const older = page.getByRole('button', { name: 'Read older ones' })
    await older.waitFor()
    answers.audit = { entries: [auditOf('a-1')], complete: true }
    await older.click()
    await status('audit').getByText('2 read: 24 read units, 6 calls').waitFor()
    expect(asked.at(-1)).toEqual({ kind: 'audit', tenant: 'acme', ...times, cursor: 'next' })
    expect(await page.locator('table[data-kind=audit] tbody tr').count()).toBe(2)
  })

  test('keeps what is being typed while it reads', async () => {
    const reading = Promise.withResolvers<void>()
    gate = reading.promise
    answers.request = { entries: [requestOf('r-1')], complete: true }
    await openAt(`requests?${range}`)
    await page.fill('input[name=code]', 'DEPENDENCY')
    reading.resolve()
    await page.locator('tr[data-id=r-1]').waitFor()
    expect(await page.inputValue('input[name=code]')).toBe('DEPENDENCY')
  })

  test('shows why it could not be read', async () => {
    const { read } = source
    source.read = async () => {
      throw new Error('User: jane is not authorized to perform: dynamodb:Query')
    }
    await openAt(`audit?tenant=acme&${range}`)
    await page.getByText('jane is not authorized').waitFor()
    source.read = read
  })

  test('shows times in UTC, or in the zone of the browser', async () => {
    answers.request = { entries: [requestOf('r-1')], complete: true }
    await openAt(`requests?${range}`)
    const time = page.locator('tr[data-id=r-1] td').first()
    await time.getByText('2026-11-23 13:00:00.000').waitFor()
    await page.selectOption('select[name=zone]', 'UTC')
    await time.getByText('2026-11-23 12:00:00.000').waitFor()
    expect(await page.inputValue('input[name=from]')).toMatch(/^2026-11-23T11:00/)
    expect(page.url()).toContain('zone=UTC')
    expect(asked).toHaveLength(1)
  })
})

describe('an entry', () => {
  test('has an address that shows it to a colleague', async () => {
    answers.audit = { entries: [auditOf('a-1')], complete: true }
    await openAt(`audit?tenant=acme&${range}`)
    await page.locator('tr[data-id=a-1] .open').click()
    await page.locator('#detail').getByText('code/c-1').waitFor()
    // What is shown already is not read again.
    expect(asked).toHaveLength(1)
    const { hash } = new URL(page.url())
    await page.context().close()
    await openAt(hash.slice(1))
    await page.locator('#detail').getByText('code/c-1').waitFor()
  })

  test('shows the commands that act on it, and no button', async () => {
    const commands = ['npx commerce api-keys revoke k-1 --tenant acme --yes --stack commerce-prod']
    answers.audit = { entries: [auditOf('a-1', { commands })], complete: true }
    await openAt(`audit?tenant=acme&${range}&entry=audit+a-1`)
    await page
      .locator('#detail .command')
      .getByText(commands[0] ?? '')
      .waitFor()
  })
})

const looks = [
  { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const },
  { viewport: { width: 1440, height: 900 }, colorScheme: 'light' as const },
]
describe.each(looks)('on $viewport.width pixels, $colorScheme', (look) => {
  const commands = [
    `npx commerce api-keys revoke ${'k'.repeat(40)} --tenant acme --yes --stack commerce-prod`,
  ]
  beforeEach(() => {
    answers.audit = { entries: [auditOf('a-1', { commands })], complete: false, cursor: 'next' }
    answers.request = { entries: [requestOf('r-1')], complete: false }
  })

  test.each([
    `audit?tenant=acme&${range}`,
    `audit?tenant=acme&${range}&entry=audit+a-1`,
    `requests?${range}`,
    `money?${range}`,
    'found?what=c-1',
    'mail',
  ])('%s fits and is accessible', async (address) => {
    await open(`#token=${token}&${address}`, browser.newContext(look))
    await page.waitForSelector('section:not([hidden])')
    await page.waitForFunction(`!document.body.innerText.includes('Reading …')`)
    expect(await excessWidth(page)).toBe(0)
    expect(await violations(page)).toEqual([])
  })
})

describe('a search', () => {
  test('finds everything about one thing', async () => {
    await openAt(`requests?${range}`)
    await page.fill('input[name=what]', ' c-1 ')
    await page.keyboard.press('Enter')
    await page.locator('table[data-kind=found]').getByText('update of code/c-1').waitFor()
    await status('found').getByText('1 read: 4 read units, 2 calls').waitFor()
    expect(asked.at(-1)).toEqual({ what: 'c-1', ...times })
  })

  test('is named by an address, and says that nothing was found', async () => {
    await openAt('found?what=nothing&tenant=acme')
    await page.getByText('nothing was found').waitFor()
    expect(asked).toEqual([{ what: 'nothing', tenant: 'acme' }])
  })
})

test('no page reported an error', () => {
  expect(errors).toEqual([])
})
