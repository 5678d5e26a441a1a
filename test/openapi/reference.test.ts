import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { errorsPage } from '#bin/reference/pages.ts'
import { type ErrorCode, errorCatalog } from '#shared/error-catalog.ts'

const markdown = await readFile(join(import.meta.dirname, '../../bin/reference/errors.md'), 'utf8')

describe('the page of errors', () => {
  test.each(Object.keys(errorCatalog) as ErrorCode[])('gives advice for %s', async (code) => {
    const [, status, advice] =
      new RegExp(`<code>${code}</code></td>\\s*<td>(\\d+)</td>\\s*<td>(?:yes|no)</td>\\s*<td>(.*)</td>`).exec(
        await errorsPage(markdown),
      ) ?? []
    expect(Number(status)).toBe(errorCatalog[code].http)
    expect(advice).toMatch(/\w/)
  })

  test('is rejected without the advice for a code', async () => {
    const incomplete = markdown.replace(/^\| `CODE\.invalid`.*\n/m, '')
    await expect(errorsPage(incomplete)).rejects.toThrow('errors.md lacks CODE.invalid')
  })

  test('is rejected with an unknown code', async () => {
    const wrong = markdown.replace('`CODE.invalid`', '`CODE.unknown`')
    await expect(errorsPage(wrong)).rejects.toThrow('errors.md names CODE.unknown')
  })
})
