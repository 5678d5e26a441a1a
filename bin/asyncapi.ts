import { join } from 'node:path'
import { asyncapiDocument } from './asyncapi/document.ts'
import { writeOrCheck } from './generated-file.ts'
import { loadSettings, localProfile } from './settings-file.ts'

export const asyncapiFile = join(import.meta.dirname, '../asyncapi.json')

if (import.meta.main) {
  const settings = await loadSettings(localProfile, 'local')
  await writeOrCheck(asyncapiFile, asyncapiDocument(settings), 'npm run asyncapi')
}
