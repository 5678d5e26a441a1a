import type { Page } from 'playwright-core'

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
    await collapsed.click({ timeout: 10_000 }).catch(() => {})
  }
  const shown = await client.innerText()
  await page.keyboard.press('Escape')
  await client.waitFor({ state: 'hidden' })
  return shown
}
