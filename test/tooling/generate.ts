import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadSettings, localProfile } from '#bin/build/settings-file.ts'
import { commandsPage } from '#bin/cli/commands-page.ts'
import { asyncapiDocument } from '#bin/describe/asyncapi.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { withRoles } from '#bin/describe/reference/guides.ts'
import { routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import { costsOfProd } from '#test/bench/aws/costs.ts'
import { clientTypes } from './client-types.ts'

/**
 * `npm run generate`: writes every generated file of the repository. With `--check` it writes nothing and fails if one is
 * out of date.
 */
const root = join(import.meta.dirname, '../..')
const { check } = parseArgs({ options: { check: { type: 'boolean' } } }).values
const settings = await loadSettings()
checkFolders()
checkOperations(settings, routes, localProfile)
const accessGuide = 'docs/guides/access.md'
const openapi = `${compactJson(openapiDocument(settings))}\n`
const generated: Record<string, string> = {
  'openapi.json': openapi,
  'asyncapi.json': `${compactJson(asyncapiDocument(settings))}\n`,
  'client/schema.ts': await clientTypes(JSON.parse(openapi)),
  'docs/commands.md': commandsPage(),
  [accessGuide]: withRoles(await readFile(join(root, accessGuide), 'utf8'), settings),
  'docs/costs.md': await costsOfProd(),
}
for (const [file, text] of Object.entries(generated)) {
  const path = join(root, file)
  if ((await readFile(path, 'utf8').catch(() => '')) === text) continue
  console.log(check ? `${file} is out of date: run npm run generate and commit it` : `${file} is new`)
  if (check) process.exitCode = 1
  else await writeFile(path, text)
}

/** @throws Error that names the folders of operations that the route table leaves out */
function checkFolders(): void {
  const listed = new Set(routes.map(({ folder }) => join('functions', folder)))
  const left = globSync('functions/*/*/route.ts', { cwd: root }).filter((file) => !listed.has(dirname(file)))
  if (left.length > 0) throw new Error(`add a line to functions/routes.ts for ${left.join(', ')}`)
}

/** Returns a document as JSON in which everything that fits into a line is one line. */
function compactJson(value: unknown, indent = ''): string {
  const lineWidth = 110
  const line = JSON.stringify(value, null, 1)?.replace(/\n\s*/g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + line.length <= lineWidth) return line
  const deeper = `${indent}  `
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const members = Object.entries(value).flatMap(([key, member]) => {
    const text = compactJson(member, deeper)
    if (text === undefined) return []
    return [`${deeper}${Array.isArray(value) ? '' : `${JSON.stringify(key)}: `}${text}`]
  })
  return `${open}\n${members.join(',\n')}\n${indent}${close}`
}
