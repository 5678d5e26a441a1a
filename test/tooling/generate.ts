import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadSettings, localProfile } from '#bin/build/settings-file.ts'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/checks/check-operations.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import { descriptionFiles, figurePages, otherFiles } from './generated-files.ts'

/**
 * `npm run generate`: writes every generated file of the repository. With `--check` it writes nothing and fails if one is
 * out of date. With `--settings FILE` it describes the deployment with that profile, and leaves the other files alone. With
 * `--figures` it writes the pages of figures instead: a release makes them, and nothing compares them.
 */
const root = join(import.meta.dirname, '../..')
const options = {
  check: { type: 'boolean' },
  settings: { type: 'string' },
  figures: { type: 'boolean' },
} as const
const { check, settings: profile, figures } = parseArgs({ options }).values
try {
  const settings = await loadSettings(profile)
  checkFolders()
  checkOperations(settings, routes, profile ?? localProfile)
  if (figures) await write(await figurePages())
  else await write({ ...(await descriptionFiles(settings)), ...(profile === undefined && otherFiles()) })
} catch (thrown) {
  if (!(thrown instanceof ProfileError)) throw thrown
  console.error(thrown.message)
  process.exitCode = 1
}

async function write(generated: Record<string, string>): Promise<void> {
  for (const [file, text] of Object.entries(generated)) {
    const path = join(root, file)
    if ((await readFile(path, 'utf8').catch(() => '')) === text) continue
    console.log(check ? `${file} is out of date: run npm run generate and commit it` : `${file} is written`)
    if (check) process.exitCode = 1
    else await writeFile(path, text)
  }
}

/** @throws Error that names the folders of operations that the route table leaves out */
function checkFolders(): void {
  const listed = new Set(routes.map(({ folder }) => join('functions', folder)))
  const left = globSync('functions/*/*/route.ts', { cwd: root }).filter((file) => !listed.has(dirname(file)))
  if (left.length > 0) throw new Error(`add a line to functions/routes.ts for ${left.join(', ')}`)
}
