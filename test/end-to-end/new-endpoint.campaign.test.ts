import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { blocksOf, type Checkout, checkout } from './checkout.ts'

let here: Checkout
/** The blocks of 'Adding an endpoint' in docs/architecture.md, by the file that they create or change. */
let steps: Map<string, string>
let commands: string[]

beforeEach(() => {
  here = checkout()
  const blocks = blocksOf(here.file('docs/architecture.md'), 'Adding an endpoint')
  steps = new Map(
    blocks.flatMap((block) => {
      const [, file] = /^(?:\/\/|\+\+\+) (\S+)\n/.exec(block) ?? []
      return file === undefined ? [] : [[file, block.slice(block.indexOf('\n') + 1)]]
    }),
  )
  commands = (blocks.at(-1) ?? '').trim().split('\n')
})
afterEach(() => here.remove())

/** Takes the steps of the page in a checkout, except for one. */
function take({ without }: { without?: string } = {}): void {
  for (const [file, text] of steps) {
    if (file === without) continue
    if (/^[ +]/m.test(text) && /^\+/m.test(text)) here.write(file, changed(here.file(file), text))
    else {
      mkdirSync(dirname(join(here.folder, file)), { recursive: true })
      here.write(file, text)
    }
  }
}

/** Inserts the added lines of a change after the lines in front of them. */
function changed(text: string, change: string): string {
  const lines = text.split('\n')
  let at = -1
  for (const line of change.trimEnd().split('\n')) {
    if (line.startsWith('+')) lines.splice(++at, 0, line.slice(1))
    else {
      at = lines.indexOf(line.slice(1))
      if (at < 0) throw new Error(`there is no line "${line.slice(1)}"`)
    }
  }
  return lines.join('\n')
}

const run = async (lines: string) => {
  const { code, output } = await here.shell(lines, { TESTS: '' })
  return { passed: code === 0, output }
}

test('the page names the files of an operation and the checks', () => {
  expect([...steps.keys()]).toEqual([
    'functions/orders/summarize-order/route.ts',
    'functions/orders/summarize-order/handler.ts',
    'functions/routes.ts',
    'shared/settings/base-1.json',
    'test/support/examples.ts',
  ])
})

test('an endpoint that is added by the page passes all checks that the page names', async () => {
  take()
  for (const command of commands) {
    const { passed, output } = await run(command)
    expect(passed ? '' : `${command}: ${output}`).toBe('')
  }
  expect(here.file('openapi.json')).toContain('"/v1/orders/{id}/summary"')
  expect(here.file('docs/guides/access.md')).toContain('`GET /v1/orders/{id}/summary` | own | own | any')
}, 1_200_000)

test.each([
  ['functions/orders/summarize-order/handler.ts', /summarize-order\/handler\.ts/],
  ['functions/routes.ts', /add a line to functions\/routes\.ts for functions\/orders\/summarize-order/],
  ['shared/settings/base-1.json', /add the scope that an API key needs for orders\.summarize/],
  ['test/support/examples.ts', /add an entry for orders\.summarize .* to test\/support\/examples\.ts/],
])('a checkout without the change of %s fails and says what to add', async (without, message) => {
  take({ without })
  const guarantees = 'TABLE=memory npx jest test/guarantees/routes.test.ts'
  const { passed, output } = await run(`npm run -s format && npm run -s generate && ${guarantees}`)
  expect(passed).toBe(false)
  expect(output).toMatch(message)
})
