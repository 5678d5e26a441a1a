import { readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Returns the usage of a command that writes a generated file. */
export function generatedUsage(command: string, file: string): string {
  return `usage: npm run -s ${command} [-- --check]
Writes ${file}. With --check it writes nothing, and fails if the file is not up to date.`
}

/** Writes a document generated from the code. With `--check` it rejects a file that differs from the generated one. */
export async function writeOrCheck(file: string, document: unknown, command: string): Promise<void> {
  await writeOrCheckText(file, `${JSON.stringify(document, null, 2)}\n`, command)
}

/** Writes or checks a text file. */
export async function writeOrCheckText(file: string, text: string, command: string): Promise<void> {
  if (!process.argv.includes('--check')) return writeFile(file, text)
  const kept = await readFile(file, 'utf8').catch(() => '')
  if (kept === text) return
  console.error(`${relative(root, file)} is not what the code says: run ${command} and commit it`)
  process.exitCode = 1
}
