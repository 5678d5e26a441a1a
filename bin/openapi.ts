import { join } from 'node:path'
import { writeOrCheck } from './generated-file.ts'
import { openapiDocument } from './openapi/document.ts'
import { loadSettings, localProfile } from './settings-file.ts'

export const openapiFile = join(import.meta.dirname, '../openapi.json')

if (import.meta.main) {
  const settings = await loadSettings(localProfile, 'local')
  await writeOrCheck(openapiFile, openapiDocument(settings), 'npm run openapi')
}
