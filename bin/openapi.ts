import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openapiDocument } from './openapi/document.ts'
import { loadSettings, localProfile } from './settings-file.ts'

export const openapiFile = join(import.meta.dirname, '../openapi.json')

/** `npm run openapi` writes openapi.json; with `--check` it refuses one that is not what would be written. */
async function main(): Promise<void> {
  const document = openapiDocument(await loadSettings(localProfile, 'local'))
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (!process.argv.includes('--check')) return writeFile(openapiFile, text)
  const kept = await readFile(openapiFile, 'utf8').catch(() => '')
  if (kept === text) return
  console.error('openapi.json is not what the route table says: run npm run openapi and commit it')
  process.exitCode = 1
}

if (import.meta.main) await main()
