import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { htmlOf } from '#bin/describe/reference/markdown.ts'
import { errorsText } from '#bin/describe/reference/pages.ts'
import { routes } from '#functions/routes.ts'
import { customerColumns } from '#shared/customers/customer.ts'
import { type ErrorCode, errorCatalog } from '#shared/error-catalog.ts'
import { envelope, fail } from '#shared/platform/base/failure.ts'
import { importColumns } from '#shared/settings/import-columns.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { isWorthRetrying, nextWait } from '../../client/retry.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Any = any
const read = (file: string) =>
  readFile(join(import.meta.dirname, '../../bin/describe/reference', file), 'utf8')
const markdown = await read('errors.md')
const errorsPage = async (text: string, settings: Settings) => htmlOf(errorsText(text, settings))
const codes = Object.keys(errorCatalog) as ErrorCode[]

/** The errors whose status in one operation differs, such as `403 AUTHZ.scope.tenant`. */
const ownStatuses = routes.flatMap(({ route }) =>
  route.errors.flatMap((error) =>
    typeof error === 'object' && error.status ? [`${error.status} ${error.code}`] : [],
  ),
)

/** Returns the row of a code on the page. */
function rowOf(page: string, code: ErrorCode) {
  const cell = (content: string) => `<td[^>]*>${content}</td>`
  const cells = `<code>${code}</code></td>${cell('(\\d+)')}${cell('(yes|no)')}${cell('(.*)')}`
  const [, status, retryable, advice = ''] = new RegExp(cells).exec(page) ?? []
  return { status: Number(status), retryable: retryable === 'yes', advice }
}

describe('the page of errors', () => {
  test.each(codes)('has the row to which the docs of %s lead', async (code) => {
    const { docs = '' } = envelope(fail(code), 'c', 'https://docs.example.com/errors.html').error
    const { origin, pathname, hash } = new URL(docs)
    expect(origin + pathname).toBe('https://docs.example.com/errors.html')
    expect(await errorsPage(markdown, localSettings)).toContain(`<a id="${hash.slice(1)}">`)
  })

  test.each(codes)('gives advice for %s', async (code) => {
    expect(rowOf(await errorsPage(markdown, localSettings), code).advice).toMatch(/\w/)
  })

  test.each([
    ['local', localSettings],
    ['other', otherSettings],
  ])('has the statuses of the API description of the profile %s', async (_, settings) => {
    const page = await errorsPage(markdown, settings)
    const { paths } = openapiDocument(settings) as Any
    const ofOperations = [...ownStatuses, `413 ${settings['limits.tooLarge']}`]
    for (const methods of Object.values<Any>(paths))
      for (const { responses } of Object.values<Any>(methods))
        for (const [status, { $ref = '', description }] of Object.entries<Any>(responses))
          if ($ref && Number(status) >= 400)
            for (const code of description.split(', '))
              if (!ofOperations.includes(`${status} ${code}`))
                expect([code, rowOf(page, code).status]).toEqual([code, Number(status)])
  })

  test('calls those errors retryable that the client retries', async () => {
    const page = await errorsPage(markdown, localSettings)
    for (const code of codes) {
      const { status, retryable } = rowOf(page, code)
      const retried = isWorthRetrying(status, errorCatalog[code].retryable)
      expect([code, retried]).toEqual([code, retryable])
    }
  })

  test.each(codes.filter((code) => !errorCatalog[code].retryable))(
    'advises nobody to repeat %s',
    async (code) => {
      const { advice } = rowOf(await errorsPage(markdown, localSettings), code)
      expect(advice).not.toMatch(/^Send the request again|same key/)
    },
  )

  test('is rejected without the advice for a code', async () => {
    const incomplete = markdown.replace(/^\| `CODE\.invalid`.*\n/m, '')
    await expect(errorsPage(incomplete, localSettings)).rejects.toThrow('errors.md lacks CODE.invalid')
  })

  test('is rejected with an unknown code', async () => {
    const wrong = markdown.replace('`CODE.invalid`', '`CODE.unknown`')
    await expect(errorsPage(wrong, localSettings)).rejects.toThrow('errors.md names CODE.unknown')
  })
})

describe('the guide', () => {
  test('names the delays of the client', async () => {
    const guide = (await read('guide.md')).replaceAll('\n', ' ')
    const ranges = [1, 2, 3, 4].map((attempts) =>
      [0, 1].map((random) => nextWait({ attempts, elapsed: 0, retryAfter: undefined }, random)),
    )
    const [first, second, third, fourth] = ranges.map(([from, to]) => `${from} to ${to}`)
    expect(guide).toContain(`between ${first?.replace('to', 'and')} ms`)
    expect(guide).toContain(`then ${second}, ${third} and ${fourth} ms`)
  })

  test('makes an error that is not retryable final, as the client does', async () => {
    expect(await read('guide.md')).toContain('`retryable: false` is final')
    expect(isWorthRetrying(500, false)).toBe(false)
  })
})

describe('the description of a file', () => {
  const { paths, components } = openapiDocument(localSettings) as Any
  const fileOf = (path: string) => paths[path].post.requestBody.content['text/csv'].schema.description

  test('names the columns of customers', () => {
    const { required, optional } = customerColumns
    expect(fileOf('/imports')).toContain(
      `column ${required} is required; ${optional.slice(0, -1).join(', ')} and ${optional.at(-1)} are optional`,
    )
  })

  test('names the columns of codes', () => {
    expect(fileOf('/codes:import')).toContain(`Required columns: ${importColumns.join(', ')}.`)
  })

  test.each(['/imports', '/codes:import'])('of %s says how its cells are separated', (path) => {
    expect(fileOf(path)).toContain('UTF-8')
  })

  test('says how long its links are valid', () => {
    const { linkSeconds: exports } = localSettings['codes.export']
    const { linkSeconds: rejects } = localSettings['imports.result']
    expect(components.responses.SeeOther.description).toContain(`${exports} seconds`)
    const { rejects_url: link } = components.schemas.ImportResult.properties
    expect(link.description).toContain(`${rejects} seconds`)
  })
})
