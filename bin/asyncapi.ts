import { join } from 'node:path'
import { asyncapiDocument } from './asyncapi/document.ts'
import { run } from './command.ts'
import { generatedUsage, writeOrCheck } from './generated-file.ts'
import { loadSettings, localProfile } from './settings-file.ts'

export const asyncapiFile = join(import.meta.dirname, '../asyncapi.json')

async function main(): Promise<void> {
  const settings = await loadSettings(localProfile, 'local')
  await writeOrCheck(asyncapiFile, asyncapiDocument(settings), 'npm run asyncapi')
}

if (import.meta.main) await run(generatedUsage('asyncapi', 'asyncapi.json'), main)
