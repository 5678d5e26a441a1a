import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

/** Returns the versions from 1.0.0 on, and the unreleased one after them, that do not say how to update. */
function withoutUpdating(changelog: string): string[] {
  const versions = changelog.split(/^## /m).slice(1)
  const promising = versions.slice(0, versions.findLastIndex((text) => /^\[[1-9]/.test(text)) + 1)
  const states = /^### Updating\n\n(?!#)\S/m
  return promising.filter((text) => !states.test(text)).map((text) => text.slice(0, text.indexOf('\n')))
}

test('every version from 1.0.0 on says how to update a running stack', async () => {
  expect(withoutUpdating(await readFile(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8'))).toEqual([])
})

test('a version that does not say it is found', () => {
  const first = '## [1.0.0]\n\n### Updating\n\nThe first release: there is nothing to update.\n'
  expect(withoutUpdating(`## [Unreleased]\n\n### Added\n\n${first}\n## [0.1.0]\n`)).toEqual(['[Unreleased]'])
})
