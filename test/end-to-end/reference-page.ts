import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { loadSettings } from '#bin/build/settings-file.ts'
import { referenceSite, type ServedSite, serveSite } from '#bin/describe/reference/site.ts'
import { startBrowser } from '#test/support/browser.ts'
import type { Deployment } from './deployment.ts'

/** Returns the selector of an operation, such as orders/POST/v1/orders. */
const sectionOf = (operation: string) => `section[id$="tag/${operation}"]`

const correlationHeader = 'x-correlation-id'

/** Sends the request of an operation as the reference shows it, and returns what the reference shows of the response. */
export async function sendFromReference(page: Page, operation: string): Promise<string> {
  await page.goto(new URL(`#tag/${operation}`, page.url()).href)
  await page.locator(sectionOf(operation)).getByRole('button', { name: 'Test Request' }).click()
  const client = page.getByRole('dialog', { name: 'API Client' })
  const send = client.getByRole('button', { name: /^Send .* request/ }).first()
  const answered = page.waitForResponse((response) => correlationHeader in response.headers())
  await send.click()
  const { [correlationHeader]: correlationId = '' } = (await answered).headers()
  // Until it shows this response, the client shows that of the request before.
  const shownHeader = client.getByText(correlationId).first()
  const collapsed = client.getByRole('button', { name: 'Response Headers', expanded: false })
  for (;;) {
    await shownHeader.or(collapsed).first().waitFor()
    if (await shownHeader.isVisible()) break
    // The client may replace the element meanwhile.
    await collapsed.click({ timeout: 1000 }).catch(() => {})
  }
  const shown = await client.innerText()
  await page.keyboard.press('Escape')
  await client.waitFor({ state: 'hidden' })
  return shown
}

/** The pages for API consumers in a real browser, against the deployed stack. */
export function referencePage(deployment: () => Deployment): void {
  let browser: Browser
  let site: ServedSite
  /** It is loaded once, because that takes seconds. */
  let reference: Page
  const errors: string[] = []

  const open = async (file: string) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    page.setDefaultTimeout(60_000)
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('requestfailed', (request) => errors.push(request.url()))
    await page.goto(`${site.url}${file}`)
    return page
  }
  beforeAll(async () => {
    const { base_url, settings, origin, token } = deployment()
    const tryAt = { base_url, token: await token({ tenant: 'reader', scope: 'codes:read codes:write' }) }
    const pages = await referenceSite(await loadSettings(settings, 'local'), tryAt)
    site = await serveSite(pages, origin, base_url)
    browser = await startBrowser()
    reference = await open('')
  })
  afterAll(async () => {
    await browser?.close()
    await site?.stop()
  })

  test('the first page shows the first request of the guide', async () => {
    expect(await reference.innerText('pre >> nth=0')).toContain('curl -i "$BASE_URL/v1/orders"')
  })

  test('each kind of operation succeeds with the example of the reference, and each request has a new key', async () => {
    const send = (operation: string) => sendFromReference(reference, operation)
    expect(await send('orders/POST/v1/orders')).toMatch(/201 Created[\s\S]*idempotency-status\s+stored/i)
    expect(await send('orders/POST/v1/orders')).toMatch(/201 Created[\s\S]*idempotency-status\s+stored/i)
    expect(await send('orders/GET/v1/orders')).toContain('200 OK')
    expect(await send('refunds/POST/v1/refunds')).toContain('201 Created')
    expect(await send('codes/POST/codes')).toContain('201 Created')
    expect(await send('discounts/POST/discount/verify')).toContain('200 OK')
    expect(await send('health/GET/health')).toContain('200 OK')
    await reference.close()
  })

  test('the link to the reference opens it', async () => {
    const page = await open('guide.html')
    await page.click('nav a:text("Reference")')
    await page.waitForSelector(sectionOf('orders/POST/v1/orders'))
    await page.close()
  })

  test('no page reported an error', () => {
    expect(errors).toEqual([])
  })
}
