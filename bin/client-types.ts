import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { run } from './command.ts'
import { generatedUsage, writeOrCheckText } from './generated-file.ts'
import { openapiFile } from './openapi.ts'

const schemaFile = join(import.meta.dirname, '../client/schema.ts')
const header =
  '/** The types of openapi.json, made by `npm run client-types`: change the routes, and never this file. */\n\n'

/** Returns the types of the client: every path, parameter, body and response of the API description. */
export async function clientTypes(description: OpenAPI3): Promise<string> {
  return header + astToString(await openapiTypes(description))
}

async function main(): Promise<void> {
  const description = JSON.parse(await readFile(openapiFile, 'utf8'))
  await writeOrCheckText(schemaFile, await clientTypes(description), 'npm run client-types')
}

if (import.meta.main) await run(generatedUsage('client-types', 'client/schema.ts'), main)
