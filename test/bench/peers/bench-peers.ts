/** `npm run bench:peers`: this service beside Vendure and Medusa, in one run on one machine, as a Markdown page. */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename, join } from 'node:path'
import { ensureJars, startDynamodbLocal } from '#test/support/dynamodb-local.ts'
import { startCommerceApi } from './commerce-api.ts'
import { install, versionOf } from './install.ts'
import { type Effort, measure } from './load.ts'
import { startMedusa } from './medusa.ts'
import { startPostgres } from './postgres.ts'
import { endAllWithThisProcess } from './processes.ts'
import { asPage } from './report.ts'
import { startVendure } from './vendure.ts'

const page = join(import.meta.dirname, '../peers.md')
const effort: Effort = { clients: 16, rounds: 5, warmUp: 500, requests: 500, contenders: 100 }

endAllWithThisProcess(15)
const dynamodbLocal = basename(await ensureJars())
const folders = { vendure: await install('vendure'), medusa: await install('medusa') }
console.log('starting the servers …')
const postgres = await startPostgres()
const dynamodb = await startDynamodbLocal()
const ours = await startCommerceApi(dynamodb.endpoint)
const vendure = await startVendure(postgres, folders.vendure)
const medusa = await startMedusa(postgres, folders.medusa)
const [figures, ...peers] = await measure([ours, vendure, medusa], effort)
if (!figures) throw new Error('nothing was measured')
const [processor] = cpus()
const versions = {
  node: process.versions.node,
  processor: `${cpus().length} cores of ${processor?.model.trim()}`,
  postgres: postgres.version,
  dynamodbLocal,
  vendure: await versionOf(folders.vendure, '@vendure/core'),
  medusa: await versionOf(folders.medusa, '@medusajs/medusa'),
}
await writeFile(page, asPage([figures, ...peers], effort, versions))
console.log(`written to ${page}`)
// What was started ends with this process, however it ends.
process.exit(0)
