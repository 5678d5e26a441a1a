import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { loadSettings, localProfile } from '#bin/build/settings-file.ts'
import { eventDefinitions } from '#functions/events.ts'
import { bases } from '#shared/settings/read-profile.ts'
import { releasedNames } from '#test/cli/released-names.ts'
import { releasedEvents } from '#test/events/released-events.ts'
import type { StoredData } from '#test/stored-data/stored-data.ts'
import { writeRelease } from '#test/stored-data/write-release.ts'
import { withGo } from '#test/support/go.ts'

/**
 * `npm run compatibility`: rejects an openapi.json that breaks callers of the last release, by oasdiff. With `--release` it first makes this version the last release: it stores its
 * openapi.json, its events, the names that scripts use, and data that the version writes.
 */

const root = join(import.meta.dirname, '../..')
const openapi = join(root, 'openapi.json')
/** The description of the last release. */
const released = join(root, 'test/openapi/released.json')
/** The events of the last release. */
const releasedEventsFile = join(root, 'test/events/released.json')

const run = promisify(execFile)
const cache = join(root, 'node_modules/.cache')
const version = 'v1.35.0'

/** Returns the changes between two files with descriptions that break callers of the older one. */
export async function breakingChanges(before: string, after: string): Promise<string[]> {
  const levels = join(import.meta.dirname, 'oasdiff-levels.txt')
  const options = ['--format', 'json', '--severity-levels', levels]
  const { stdout } = await run(await oasdiff(), ['breaking', before, after, ...options], { maxBuffer: 1e8 })
  const changes: { operation: string; path: string; text: string }[] = JSON.parse(stdout || '[]')
  return changes.map(({ operation, path, text }) => `${operation} ${path}: ${text}`)
}

/** Returns the path of oasdiff, which is compiled once. */
async function oasdiff(): Promise<string> {
  const folder = join(cache, `oasdiff-${version}`)
  const program = join(folder, 'oasdiff')
  if (existsSync(program)) return program
  await withGo((go) => go('install', `github.com/oasdiff/oasdiff@${version}`), { GOBIN: folder })
  return program
}

/** Returns JSON with a line for each item and each response. */
function linesOf(data: StoredData): string {
  const lines = Object.entries(data).map(([name, value]) => {
    const members = Array.isArray(value)
      ? value.map((member) => JSON.stringify(member)).join(',\n')
      : undefined
    return `"${name}": ${members === undefined ? JSON.stringify(value) : `[\n${members}\n]`}`
  })
  return `{\n${lines.join(',\n')}\n}\n`
}

if (import.meta.main) {
  const { release } = parseArgs({ options: { release: { type: 'boolean' } } }).values
  const settings = await loadSettings(localProfile, 'local')
  if (release) {
    await copyFile(openapi, released)
    const events = releasedEvents(eventDefinitions, settings)
    await writeFile(releasedEventsFile, `${JSON.stringify(events, null, 2)}\n`)
    await writeFile(join(root, 'test/cli/released.json'), `${JSON.stringify(releasedNames(), null, 2)}\n`)
    for (const name of bases)
      await copyFile(
        join(root, `shared/settings/${name}.json`),
        join(root, `test/settings/released/${name}.json`),
      )
    const schema = 'profile.schema.json'
    await copyFile(join(root, 'shared/settings', schema), join(root, 'test/settings/released', schema))
    const data = await writeRelease()
    await writeFile(join(root, `test/stored-data/${data.version}.json`), linesOf(data))
  }
  const changes = await breakingChanges(released, openapi)
  if (changes.length > 0) {
    console.error(`openapi.json breaks callers of the last release:\n${changes.join('\n')}`)
    process.exitCode = 1
  }
}
