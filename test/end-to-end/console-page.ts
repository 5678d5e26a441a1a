import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { loadSettings } from '#bin/build/settings-file.ts'
import { type LocalSource, localSource } from '#bin/console/local.ts'
import { startConsole } from '#bin/console/server.ts'
import { referenceSite, type ServedSite, serveSite } from '#bin/describe/reference/site.ts'
import { startBrowser } from '#test/support/browser.ts'
import { freePort } from '#test/support/free-port.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'
import type { Deployment, Send } from './deployment.ts'
import { patience } from './until.ts'

const as = { tenant: 'watched', role: 'Editor', sub: 'watched-user' }

/** The console in a real browser, during calls of the deployed stack. */
export function consolePage(deployment: () => Deployment): void {
  let browser: Browser
  let source: LocalSource
  let site: ServedSite
  let page: Page
  const errors: string[] = []
  const receivers: HttpServer[] = []
  beforeAll(async () => {
    const { base_url, origin, activityFile, settings } = deployment()
    source = localSource(deployment(), activityFile)
    const console = startConsole(source)
    const pages = await console.pages(await referenceSite(await loadSettings(settings)))
    site = await serveSite(pages, origin, base_url, console.answer)
    browser = await startBrowser()
    page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
    page.setDefaultTimeout(patience)
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(`${site.url}console.html`)
    await page.waitForSelector('#connection.good')
  })
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
    source?.stop()
    await Promise.all(receivers.map((receiver) => receiver.stop()))
  })

  const send = (path: string, options: Send) => deployment().send(path, { method: 'POST', as, ...options })
  const post = (path: string, body: unknown, options: Send = {}) =>
    send(path, {
      body,
      ...options,
      headers: { 'Idempotency-Key': crypto.randomUUID(), ...options.headers },
    })
  const openTab = (name: string) => page.click(`#tab-${name}`)
  /** Returns the row of a list with a text, once it appears. */
  const row = async (kind: string, text: string) => {
    const found = page.locator(`table[data-kind=${kind}] tbody tr`, { hasText: text })
    await found.first().waitFor()
    return found.first()
  }

  test('an order appears with its status and duration', async () => {
    const order = { cart_id: 'cart-1', amount_minor: 1999, currency: 'EUR' }
    const { status } = await post('/v1/orders', order, { headers: { 'X-Correlation-Id': 'watched-order' } })
    expect(status).toBe(201)
    const shown = await row('request', 'watched-order')
    expect(await shown.innerText()).toMatch(/POST \/v1\/orders\s+201\s+\d+ ms/)
  })

  test('a click on it shows its events and its log line', async () => {
    await (await row('request', 'watched-order')).locator('.open').click()
    await page.locator('#detail ol[data-kind=event] li').nth(1).waitFor()
    const events = await page.locator('#detail ol[data-kind=event] summary').allInnerTexts()
    expect(events.map((text) => text.replace(/^\S+ \S+ /, '')).toSorted()).toEqual([
      'order.created v1',
      'order.placed v1',
    ])
    await page
      .locator('#detail ol[data-kind=log]')
      .getByText('orders.create REQUEST_ANSWERED')
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
  })

  test('a rejected request appears with its error code, and its audit record', async () => {
    const headers = { 'X-Correlation-Id': 'watched-denial' }
    await post('/v1/refunds', { charge_id: 'ch_1', amount: 1 }, { as: { ...as, role: 'Viewer' }, headers })
    const shown = await row('request', 'watched-denial')
    expect(await shown.innerText()).toMatch(/403\s+\d+ ms\s+AUTHZ\.role\.denied/)
    await openTab('audit')
    const record = await row('audit', 'watched-denial')
    expect(await record.innerText()).toContain('deny: AUTHZ.role.denied')
  })

  test('the one-time code in the mail starts a session', async () => {
    const email = 'watched@example.com'
    await post('/otp/request', { email }, { as: null })
    await openTab('mail')
    const mail = await row('mail', email)
    const [, code] = /Your code is (\d{6})\./.exec(await mail.innerText()) ?? []
    const verified = await post('/otp/verify', { email, code }, { as: null })
    expect(verified.status).toBe(200)
  })

  test('a refund appears as paid by the provider, and in the ledger', async () => {
    await post('/v1/refunds', { charge_id: 'ch_watched', amount: 700 })
    await openTab('money')
    expect(await (await row('payout', 'ch_watched')).innerText()).toContain('7.00 EUR')
    expect(await (await row('ledger', 'ch_watched')).innerText()).toContain('7.00 EUR')
  })

  test('the bar of an import reaches its end', async () => {
    const body = 'email,name,country\nwatched@example.com,Watched,DE\nnobody,Nobody,DE\n'
    const { json } = await send('/imports', { body, headers: { 'Content-Type': 'text/csv' } })
    await openTab('operations')
    const operation = await row('operation', json.operation_id)
    await operation.locator('progress.succeeded[value="1"]').waitFor()
    expect(await operation.innerText()).toMatch(/succeeded: PARTIAL\s+1 imported, 1 rejected/)
  })

  test('an event that cannot be handled becomes a dead letter, and is redriven', async () => {
    const ofUnknownOrder = [
      'order.paid',
      '--id',
      '01a1fd42-cae3-848a-b36e-b4be13e97000',
      '--tenant',
      as.tenant,
    ]
    const { base_url, run } = deployment()
    await run('webhook', 'send', ...ofUnknownOrder, '--url', base_url)
    await openTab('queues')
    const queue = await row('queue', 'webhooks')
    await queue
      .getByText(/NOT_FOUND\.order after \d+ attempts/)
      .first()
      .waitFor()
    const button = queue.getByRole('button', { name: 'Redrive' })
    await button.waitFor()
    await button.click()
    await queue.getByText('no dead letters').waitFor()
  })

  test('a delivery that failed says why, and is resent by a button', async () => {
    let status = 500
    const receiver = await startHttpServer((request, response) => {
      request.resume()
      // No attempt of the schedule takes the place of the one that the button makes.
      response.writeHead(status, { 'Retry-After': '600' }).end('the disk is full')
    })
    receivers.push(receiver)
    const url = `${receiver.url}/hook`
    const { run } = deployment()
    const of = ['--tenant', as.tenant]
    const [subscriber] = await run('subscribers', 'create', ...of, '--url', url, '--events', 'order.placed')
    const order = { cart_id: 'cart-2', amount_minor: 1999, currency: 'EUR' }
    await post('/v1/orders', order, { headers: { 'X-Correlation-Id': 'watched-delivery' } })
    await openTab('deliveries')
    const delivery = await row('delivery', 'watched-delivery')
    await delivery.locator('.open').click()
    const detail = page.locator('#detail')
    await detail.getByText('it answered with an error').waitFor()
    expect(await detail.innerText()).toContain('the disk is full')
    status = 204
    await detail.getByRole('button', { name: 'Resend' }).click()
    await delivery.getByText('succeeded').waitFor()
    await page.keyboard.press('Escape')
    await openTab('audit')
    expect(await (await row('audit', 'delivery.resend')).innerText()).toContain('allow')
    await run('subscribers', 'delete', String(subscriber?.id), ...of, '--yes')
  })

  describe('of a stack, by its command', () => {
    let running: ReturnType<Deployment['start']>
    let stage: Page
    beforeAll(async () => {
      const port = await freePort()
      running = deployment().start('console', '--port', String(port))
      const [printed] = await once(running.stdout, 'data')
      stage = await browser.newPage({ viewport: { width: 1400, height: 900 } })
      stage.setDefaultTimeout(patience)
      stage.on('pageerror', (error) => errors.push(error.message))
      await stage.goto(JSON.parse(String(printed)).link)
      await stage.waitForSelector('#connection.good')
    })
    afterAll(async () => {
      const ended = once(running, 'exit')
      running.kill()
      await ended
    })
    /** Returns the row of a list with a text. The logs are written after the response, so the view is read again. */
    const rowOf = async (address: string, kind: string, text: string) => {
      await stage.evaluate(`location.hash = ${JSON.stringify(address)}`)
      const found = stage.locator(`table[data-kind=${kind}] tbody tr`, { hasText: text }).first()
      for (; !(await found.isVisible()); await stage.waitForTimeout(1000))
        await stage.locator('#filters button[type=submit]').click()
      return found
    }
    const of = (tab: string) => `#${tab}?tenant=${as.tenant}`

    test.each([
      ['a denied request', 'requests', 'request', 'watched-denial', /POST \/v1\/refunds\s+403/],
      ['the record of a denial', 'audit', 'audit', 'watched-denial', /deny: AUTHZ\.role\.denied/],
      ['a refund in units of its currency', 'money', 'refund', 'ch_watched', /7\.00 EUR\s+succeeded/],
      ['an import with its rejected rows', 'operations', 'operation', 'PARTIAL', /1 imported, 1 rejected/],
      ['a delivery with its attempts', 'deliveries', 'delivery', 'watched-delivery', /succeeded/],
    ])('shows %s', async (_, tab, kind, text, shown) => {
      expect(await (await rowOf(of(tab), kind, text)).innerText()).toMatch(shown)
    })

    test('shows the command that resends a delivery', async () => {
      await (await rowOf(of('deliveries'), 'delivery', 'watched-delivery')).locator('.open').click()
      const line = await stage.locator('#detail .command', { hasText: 'deliveries resend' }).innerText()
      expect(line).toMatch(/npx commerce deliveries resend [\w-]+ --tenant watched --stack commerce-local/)
    })

    test('finds everything about a correlation id', async () => {
      const found = await rowOf('#found?what=watched-order', 'found', 'order.placed')
      expect(await found.innerText()).toContain('event')
      await rowOf('#found?what=watched-order', 'found', 'orders.create 201')
    })
  })

  test('the page reported no error', () => {
    expect(errors).toEqual([])
  })
}
