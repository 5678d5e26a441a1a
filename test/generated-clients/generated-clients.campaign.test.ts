import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type AdditiveServer, additions, additiveServer, type Sent } from './additive-server.ts'
import { clientIn, description, languages } from './generate.ts'

type Outcome = Partial<Sent> & { thrown?: string }

const programs: Record<keyof typeof languages, string> = {
  'Python by openapi-python-client': 'additions-openapi-python-client.py',
  Python: 'additions.py',
  Java: 'Additions.java',
  Ruby: 'additions.rb',
  PHP: 'additions.php',
  Go: 'additions.go',
}

let server: AdditiveServer
beforeAll(async () => {
  server = await additiveServer(description)
})
afterAll(() => server.stop())

for (const [name, program] of Object.entries(programs)) {
  const language = name as keyof typeof languages
  const [suite, title] = await clientIn(language)
  suite(title, () => {
    let report: string
    let results: Record<string, Outcome>[]
    beforeAll(async () => {
      const client = await languages[language].generate()
      report = client.report
      const input = { urls: additions.map((addition) => server.urlOf(addition)), calls: server.calls }
      results = await client.use(program, input)
    })

    test('has every operation: the generator reports no problem', () => {
      expect(report).not.toMatch(/warn|error/i)
    })

    test.each(additions)('returns every response when a later version adds %s', (addition) => {
      const outcomes = results[additions.indexOf(addition)] ?? {}
      const problems = server.calls.flatMap(({ operation }) =>
        problemsOf(server.sent(operation, addition), outcomes[operation]).map(
          (text) => `${operation}: ${text}`,
        ),
      )
      expect(problems).toEqual([])
    })
  })
}

/** Returns how an outcome differs from the response. A client may drop fields that it does not know. */
function problemsOf(sent: Sent, { status, body, thrown }: Outcome = {}): string[] {
  if (thrown !== undefined) return [thrown]
  if (status !== sent.status) return [`status ${status} instead of ${sent.status}`]
  const returned = new Map(leavesOf(body))
  const lost = leavesOf(sent.body).filter(([path, value]) => returned.get(path) !== value)
  return lost.map(([path, value]) => `${path} is ${returned.get(path)} instead of ${value}`)
}

/** Returns the values of the known fields, by their paths. Clients print times in several forms. */
function leavesOf(value: unknown, path = 'body'): [string, unknown][] {
  if (value === null || value === undefined) return []
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([name, inner]) =>
      name === 'added_later' ? [] : leavesOf(inner, `${path}.${name}`),
    )
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
  return [[path, isTime ? new Date(value).toISOString() : value]]
}
