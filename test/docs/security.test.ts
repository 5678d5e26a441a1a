import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { register } from '#shared/settings/register.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/security.md'), 'utf8')
const matchesOf = (pattern: RegExp) => [
  ...new Set([...page.matchAll(pattern)].map(([, match = '']) => match)),
]
const files = matchesOf(/`(test\/[^`]+)`/g)
const controls = page
  .split('\n')
  .filter((line) => /^\| (?!Threat|Asset|-)/.test(line) && line.split('|').length === 5)

test('docs/stability.md names a test for each promise', () => {
  const rows =
    readFileSync(join(root, 'docs/stability.md'), 'utf8').match(/^\| (?!Part|Promise|-).*$/gm) ?? []
  expect(rows.filter((row) => !/ `test\/[^`]+\.test\.ts` \|$/.test(row))).toEqual([])
  expect(rows.length).toBeGreaterThan(15)
})

describe('docs/security.md', () => {
  test.each(files)('names an existing test: %s', (file) => {
    expect(existsSync(join(root, file))).toBe(true)
  })

  test('names only test files', () => {
    expect(files.filter((file) => !file.endsWith('.test.ts'))).toEqual([])
  })

  const proven = page.slice(page.indexOf('## Credentials'), page.indexOf('## What remains'))
  const rows = controls
    .filter((row) => proven.includes(row))
    .map((row) => row.split('|').map((cell) => cell.trim()))

  test.each(rows.map(([, threat = '', , tests = '']) => [threat, tests]))(
    'names a test for each control: %s',
    (_, tests) => {
      expect(tests).toMatch(/`test\/[^`]+\.test\.ts`/)
    },
  )

  test('names existing settings', () => {
    const named = matchesOf(
      /`((?:auth|secrets|discount|limits|login|otp|refunds|lists|imports)\.[A-Za-z]+)`/g,
    )
    expect(named.filter((key) => !Object.hasOwn(register, key))).toEqual([])
  })
})
