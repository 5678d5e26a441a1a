import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Runs `npm run NAME`, which writes a generated file. With `--check` it writes nothing and fails if the file is out of
 * date.
 * @param file its path from the root of the repository
 * @param generate returns the text of the file, or a JSON document
 */
export async function generatedFile(
  name: string,
  file: string,
  generate: () => Promise<string | object>,
): Promise<void> {
  const { check } = parseArgs({ options: { check: { type: 'boolean' } } }).values
  const generated = await generate()
  const text = typeof generated === 'string' ? generated : `${compactJson(generated)}\n`
  const path = join(import.meta.dirname, '..', file)
  if (!check) return writeFile(path, text)
  if ((await readFile(path, 'utf8').catch(() => '')) === text) return
  console.error(`${file} is out of date: run npm run ${name} and commit it`)
  process.exitCode = 1
}

const lineWidth = 110

/** Returns a document as JSON in which everything that fits into a line is one line. */
function compactJson(value: unknown, indent = ''): string {
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
