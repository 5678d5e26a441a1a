import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { descriptionChanges, told } from './compatibility/description-changes.ts'
import { openapiFile } from './openapi.ts'

/** The description that callers were given last. */
export const releasedFile = join(import.meta.dirname, '../test/openapi/released.json')

if (import.meta.main) {
  if (process.argv.includes('--release')) await copyFile(openapiFile, releasedFile)
  const [released, current] = await Promise.all([releasedFile, openapiFile].map(read))
  const breaks = descriptionChanges(released, current).map(told)
  if (breaks.length > 0) {
    console.error(`openapi.json breaks callers of the last release:\n${breaks.join('\n')}`)
    process.exitCode = 1
  }
}

async function read(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'))
}
