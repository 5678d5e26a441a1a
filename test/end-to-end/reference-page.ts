import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { referenceSite, type ServedSite, serveSite } from '#bin/reference/site.ts'
import { loadSettings } from '#bin/settings-file.ts'
import { startBrowser } from '#test/support/browser.ts'
import type { Deployment } from './deployment.ts'

const run = promisify(execFile)

/** Returns the selector of an operation, such as orders/POST/v1/orders. */
const sectionOf = (operation: string) => `section[id$="tag/${operation}"]`

/** Sends the request of an operation as the reference shows it, and returns what the reference shows of the response. */
export async function sendFromReference(page: Page, operation: string): Promise<string> {
  await page.goto(new URL(`#tag/${operation}`, page.url()).href)
  await page.locator(sectionOf(operation)).getByRole('button', { name: 'Test Request' }).click()
  const client = page.getByRole('dialog')
  await client
    .getByRole('button', { name: /^Send .* request/ })
    .first()
    .click()
  const headers = client.getByRole('button', { name: 'Response Headers' })
  await headers.waitFor()
  if ((await headers.getAttribute('aria-expanded')) !== 'true') await headers.click()
  await client.getByText('x-correlation-id').first().waitFor()
  const shown = await client.innerText()
  await page.keyboard.press('Escape')
  await client.waitFor({ state: 'hidden' })
  return shown
}

const firstRequest = (page: Page) => page.innerText('pre >> nth=0')

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
  })
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
  })

  /** Opens a page, and fails at the end if it reported an error. */
  const visit = async (file: string, look: (page: Page) => Promise<void>) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    page.setDefaultTimeout(60_000)
    const wrong: string[] = []
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('requestfailed', (request) => wrong.push(request.url()))
    await page.goto(`${site.url}${file}`)
    await look(page)
    await page.close()
    expect(wrong).toEqual([])
  }
  test('each kind of operation succeeds with the example of the reference, and a repeated request is a replay', async () => {
    await visit('', async (page) => {
      const send = (operation: string) => sendFromReference(page, operation)
      expect(await send('orders/POST/v1/orders')).toMatch(/201 Created[\s\S]*idempotency-status\s+stored/i)
      expect(await send('orders/POST/v1/orders')).toMatch(/201 Created[\s\S]*idempotency-status\s+replayed/i)
      expect(await send('orders/GET/v1/orders')).toContain('200 OK')
      expect(await send('refunds/POST/v1/refunds')).toContain('201 Created')
      expect(await send('codes/POST/codes')).toContain('201 Created')
      expect(await send('discounts/POST/discount/verify')).toContain('200 OK')
      expect(await send('health/GET/health')).toContain('200 OK')
    })
  })

  test('the first page shows the first request of the guide', async () => {
    await visit('', async (page) => {
      expect(await firstRequest(page)).toContain('curl -i "$BASE_URL/v1/orders"')
    })
  })

  test('the first request of the guide creates an order when pasted', async () => {
    await visit('guide.html', async (page) => {
      const { base_url: BASE_URL, token } = deployment()
      const env = { PATH: process.env.PATH, BASE_URL, TOKEN: await token({ tenant: 'guided' }) }
      const { stdout } = await run('bash', ['-c', await firstRequest(page)], { env })
      expect(stdout).toMatch(/^HTTP\/1.1 201[\s\S]*"cart_id":"cart-1"/)
    })
  })

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
        await page.waitForSelector(sectionOf('orders/POST/v1/orders'))
      })
    },
    120_000,
  )
}
