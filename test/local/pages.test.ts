import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { loadSettings } from '#bin/build/settings-file.ts'
import { referenceSite, type ServedSite, serveSite } from '#bin/describe/reference/site.ts'
import { sendFromReference } from '#test/end-to-end/reference-page.ts'
import { excessWidth, violations } from '#test/support/accessibility.ts'
import { startBrowser } from '#test/support/browser.ts'
import { freePort } from '#test/support/free-port.ts'

const phone = { width: 390, height: 844 }
const desktop = { width: 1280, height: 900 }
const settings = await loadSettings()
const reference = await referenceSite(settings)
const pagesOfText = [...reference.keys()].filter((file) => file.endsWith('.html') && file !== 'index.html')

const id = '0192f3a4-5b6c-7d8e-9f01-23456789abcd'

let base: string
let site: ServedSite
let browser: Browser
beforeAll(async () => {
  base = `http://127.0.0.1:${await freePort()}`
  const pages = await referenceSite(settings, { base_url: base, token: 'token' })
  site = await serveSite(pages, `http://localhost:${await freePort()}`, base)
  browser = await startBrowser()
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
})

/** Opens a page and waits until it shows its content. */
async function open(file: string, viewport = phone): Promise<Page> {
  const page = await browser.newPage({ viewport })
  page.setDefaultTimeout(200_000)
  await page.goto(`${site.url}${file}`)
  if (file === 'index.html') await page.waitForSelector('section[id$="tag/orders/POST/v1/orders"]')
  return page
}

const contrast: axe.RunOptions = { runOnly: ['color-contrast'] }
/** Returns the tables that are wider than their region. */
const wideTables = `[...document.querySelectorAll('main table')].filter(({ scrollWidth, parentElement }) =>
  scrollWidth > parentElement.clientWidth).map(({ parentElement }) => parentElement.ariaLabel)`
/** Returns the words within code that take several lines. */
const brokenWords = `[...document.querySelectorAll('main :not(pre) > code')].flatMap((code) => {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
  const broken = []
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/\\S+/g)) {
      const range = new Range()
      range.setStart(texts.currentNode, index)
      range.setEnd(texts.currentNode, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word)
    }
  }
  return broken
})`

describe.each(pagesOfText)('%s', (file) => {
  let page: Page
  beforeAll(async () => {
    page = await open(file)
  })
  afterAll(() => page.close())

  test('fits a phone', async () => {
    expect(await excessWidth(page)).toBe(0)
  })

  test('breaks no word of code on a phone', async () => {
    expect(await page.evaluate(brokenWords)).toEqual([])
  })

  test('shows every column on a phone', async () => {
    expect(await page.evaluate(wideTables)).toEqual([])
  })

  test('is accessible', async () => {
    expect(await violations(page, {})).toEqual([])
  })

  test('shows every column on a desktop', async () => {
    await page.setViewportSize(desktop)
    expect(await page.evaluate(wideTables)).toEqual([])
  })
})

test.each([
  ['llms.txt', 'text/plain; charset=utf-8'],
  ['concepts.md', 'text/markdown; charset=utf-8'],
])('%s is served as %s', async (file, type) => {
  const response = await fetch(`${site.url}${file}`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
})

// The other pages have no colors of their own.
test.each(['guide.html', 'errors.html'])('%s has enough contrast in the dark', async (file) => {
  const page = await open(file)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await violations(page, contrast)).toEqual([])
  await page.close()
})

describe('the reference', () => {
  let page: Page
  beforeAll(async () => {
    page = await open('index.html')
  })
  afterAll(() => page.close())

  test('fits a phone', async () => {
    expect(await excessWidth(page)).toBe(0)
  })

  test('has enough contrast', async () => {
    expect(await violations(page, contrast)).toEqual([])
  })

  test('hides no text from the keyboard on a phone', async () => {
    expect(await violations(page, { runOnly: ['scrollable-region-focusable'] })).toEqual([])
  })

  test('sends a new Idempotency-Key with each test request', async () => {
    const keys: string[] = []
    await page.setViewportSize(desktop)
    await page.route(`${base}/**`, (route) => {
      keys.push(route.request().headers()['idempotency-key'] ?? '')
      const headers = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' }
      return route.fulfill({ status: 201, headers: { ...headers, 'X-Correlation-Id': id }, json: {} })
    })
    for (const _ of ['first', 'second']) await sendFromReference(page, 'orders/POST/v1/orders')
    expect(new Set(keys).size).toBe(2)
  })
})

test.each(['guide.html', 'errors.html', 'events.html', 'concepts.html'])(
  'tables, code and pictures of %s are regions that take the focus',
  async (file) => {
    const page = await open(file)
    const outside = 'main :is(table, pre, img):not([role=region][tabindex="0"][aria-label] > *)'
    expect(await page.locator(outside).count()).toBe(0)
    await page.close()
  },
)

test('code that is wider than a phone is scrolled by keyboard', async () => {
  const page = await open('guide.html')
  const code = page.locator('.scroll:has(> pre)').first()
  await code.focus()
  // The page's policy forbids the evaluation by which the browser driver would wait for a condition.
  await page.evaluate(
    `window.scrolled = new Promise((resolve) => document.addEventListener('scroll', resolve, { capture: true, once: true }))
      .then(() => document.activeElement.scrollLeft)
    0`,
  )
  await page.keyboard.press('ArrowRight')
  expect(await page.evaluate('window.scrolled')).toBeGreaterThan(0)
  await page.close()
})
