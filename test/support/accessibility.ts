import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Returns what axe finds on a page: the rules that are violated, with the first elements. */
export async function violations(page: Page, options: axe.RunOptions = {}): Promise<string[]> {
  await page.evaluate(axe.source)
  const run = `axe.run(document, ${JSON.stringify({ ...options, resultTypes: ['violations'] })})`
  const found = (await page.evaluate(run)) as axe.AxeResults
  return found.violations.map(({ id: rule, nodes }) => {
    const elements = nodes.slice(0, 3).map(({ target, any }) => `${target}: ${any[0]?.message ?? ''}`)
    return [rule, ...elements].join('\n')
  })
}

/** Returns by how much the content of a page is wider than its window. */
export async function excessWidth(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}
