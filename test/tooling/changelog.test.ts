import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'

const text = await readFile(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8')
const releases = text
  .split(/^## /m)
  .slice(1)
  .map((release) => [release.slice(0, release.indexOf('\n')), release] as const)

test.each(releases)('%s states whether an update of a running stack has downtime', (_name, release) => {
  expect(release).toMatch(/^### Updating\n\n(No downtime|Downtime|The first release)/m)
})
