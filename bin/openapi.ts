import { join } from 'node:path'
import { run } from './command.ts'
import { generatedUsage, writeOrCheck } from './generated-file.ts'
import { openapiDocument } from './openapi/document.ts'
import { loadSettings, localProfile } from './settings-file.ts'

export const openapiFile = join(import.meta.dirname, '../openapi.json')

async function main(): Promise<void> {
  const settings = await loadSettings(localProfile, 'local')
  await writeOrCheck(openapiFile, openapiDocument(settings), 'npm run openapi')
}

if (import.meta.main) await run(generatedUsage('openapi', 'openapi.json'), main)
