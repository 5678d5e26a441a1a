import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { command } from './command.ts'

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
  const usage = `usage: npm run -s ${name} [-- --check]
Writes ${file}. With --check it writes nothing and fails if the file is out of date.`
  await command(usage, { check: 'flag' }, async ({ check }) => {
    const generated = await generate()
    const text = typeof generated === 'string' ? generated : `${JSON.stringify(generated, null, 2)}\n`
    const path = join(import.meta.dirname, '..', file)
    if (!check) return writeFile(path, text)
    if ((await readFile(path, 'utf8').catch(() => '')) !== text)
      throw new Error(`${file} is out of date: run npm run ${name} and commit it`)
  })
}
