import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { referenceSite, type ServedSite, serveSite } from '#bin/reference/site.ts'
import { loadSettings } from '#bin/settings-file.ts'
import { startBrowser } from '#test/support/browser.ts'
import type { Deployment } from './deployment.ts'

/** The pages for API consumers in a real browser, against the deployed stack. */
export function referencePage(deployment: () => Deployment): void {
  let browser: Browser
  let site: ServedSite
  beforeAll(async () => {
    const { base_url, settings, origin, token } = deployment()
    const tryAt = { base_url, token: await token({ tenant: 'reader', scope: 'codes:read codes:write' }) }
    const pages = await referenceSite(await loadSettings(settings, 'local'), tryAt)
    site = await serveSite(pages, origin, base_url)
    browser = await startBrowser()
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
  })

  /** Opens a page, and fails at the end when it said that anything is wrong. */
  const visit = async (file: string, look: (page: Page) => Promise<void>) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const wrong: string[] = []
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('requestfailed', (request) => wrong.push(request.url()))
    await page.goto(`${site.url}${file}`)
    await look(page)
    await page.close()
    expect(wrong).toEqual([])
  }
  /** Swagger UI writes a backslash before each dot, and CSS wants another before that. */
  const operation = (id: string) => `[id="operations-${id.replaceAll('.', '\\\\.')}"]`
  const execute = async (page: Page, id: string) => {
    await page.click(`${operation(id)} .opblock-summary-control`)
    await page.click(`${operation(id)} .execute`)
    const answer = `${operation(id)} .live-responses-table tbody`
    await page.waitForSelector(`${answer} .response-col_status`)
    return page.innerText(answer)
  }

  test.each([
    ['orders-orders.create', '201'],
    ['orders-orders.list', '200'],
    ['refunds-refunds.create', '201'],
    ['codes-codes.create', '201'],
    ['discount-discount.verify', '200'],
    ['health-health.read', '200'],
  ])(
    '%s succeeds as the reference shows it',
    async (id, status) => {
      await visit('', async (page) => {
        const answer = await execute(page, id)
        expect(answer).toContain(status)
        expect(answer).toContain('x-correlation-id')
      })
    },
    60_000,
  )

  test('the same request again is a replay, and says so', async () => {
    await visit('', async (page) => {
      expect(await execute(page, 'orders-orders.create')).toContain('idempotency-status: replayed')
    })
  }, 60_000)

  test.each([
    ['guide.html', 'Idempotency-Key'],
    ['errors.html', 'CONFLICT.idempotency.payload_mismatch'],
    ['events.html', 'promo.applied, version 1'],
  ])(
    '%s opens and tells of %s',
    async (file, text) => {
      await visit(file, async (page) => {
        expect(await page.innerText('main')).toContain(text)
        await page.click('nav a:text("Reference")')
        await page.waitForSelector(operation('orders-orders.create'))
      })
    },
    60_000,
  )
}
