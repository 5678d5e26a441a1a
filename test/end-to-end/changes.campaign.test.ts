import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { blocksOf, type Checkout, checkout } from './checkout.ts'

/** What a section of docs/architecture.md says: the files that it creates or changes, in their order, and the checks. */
interface Change {
  steps: readonly (readonly [file: string, text: string])[]
  commands: readonly string[]
}

let here: Checkout
beforeEach(() => {
  here = checkout()
})
afterEach(() => here.remove())

function changeOf(heading: string): Change {
  const blocks = blocksOf(here.file('docs/architecture.md'), heading)
  const steps = blocks.flatMap((block) => {
    const [, file] = /^(?:\/\/|\+\+\+) (\S+)\n/.exec(block) ?? []
    return file === undefined ? [] : [[file, block.slice(block.indexOf('\n') + 1)] as const]
  })
  return { steps, commands: (blocks.at(-1) ?? '').trim().split('\n') }
}

/** Takes the steps of a change in a checkout, except for one. */
function take({ steps }: Change, { without }: { without?: string } = {}): void {
  for (const [file, text] of steps) {
    if (file === without) continue
    if (/^[ +-]/.test(text)) here.write(file, changed(here.file(file), text))
    else {
      mkdirSync(dirname(join(here.folder, file)), { recursive: true })
      here.write(file, text)
    }
  }
}

/** Adds and removes the lines of a change. Each line that it names follows the one before it, with others in between. */
function changed(text: string, change: string): string {
  const lines = text.split('\n')
  let at = -1
  for (const line of change.trimEnd().split('\n')) {
    if (line.startsWith('+')) {
      lines.splice(++at, 0, line.slice(1))
      continue
    }
    const next = lines.indexOf(line.slice(1), at + 1)
    if (next < 0) throw new Error(`there is no line "${line.slice(1)}"`)
    at = line.startsWith('-') ? next - 1 : next
    if (line.startsWith('-')) lines.splice(next, 1)
  }
  return lines.join('\n')
}

const run = async (lines: string) => {
  const { code, output } = await here.shell(lines, { TESTS: '' })
  return { passed: code === 0, output }
}

describe('a change by the page passes all checks that the page names', () => {
  test.each([
    ['Adding an endpoint', 'openapi.json', '"/v1/orders/{id}/summary"'],
    ['Adding a field', 'client/schema.ts', 'note?: string'],
    ['Adding a value of an enum', 'openapi.json', '"paused"'],
    ['Adding a version of an event', 'asyncapi.json', '"OrderPlacedV2"'],
    ['Receiving another webhook', 'asyncapi.json', '"order.cancelled"'],
  ])(
    '%s',
    async (heading, file, text) => {
      const change = changeOf(heading)
      expect(here.file(file)).not.toContain(text)
      take(change)
      for (const command of change.commands) {
        const { passed, output } = await run(command)
        expect(passed ? '' : `${command}: ${output}`).toBe('')
      }
      expect(here.file(file)).toContain(text)
    },
    1_200_000,
  )
})

test.each([
  ['functions/orders/summarize-order/handler.ts', /summarize-order\/handler\.ts/],
  ['functions/routes.ts', /add a line to functions\/routes\.ts for functions\/orders\/summarize-order/],
  ['shared/settings/base-1.json', /add the scope that an API key needs for orders\.summarize/],
  ['test/support/examples.ts', /add an entry for orders\.summarize .* to test\/support\/examples\.ts/],
])('an endpoint without the change of %s fails and says what to add', async (without, message) => {
  take(changeOf('Adding an endpoint'), { without })
  const guarantees = 'TABLE=memory npx jest test/guarantees/routes.test.ts'
  const { passed, output } = await run(`npm run -s format && npm run -s generate && ${guarantees}`)
  expect(passed).toBe(false)
  expect(output).toMatch(message)
})
