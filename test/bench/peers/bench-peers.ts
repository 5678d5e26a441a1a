/** `npm run bench:peers`: this service compared with Vendure and Medusa, in one run on one machine, as a Markdown page. */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { startDynamodbLocal, version } from '#test/support/dynamodb-local.ts'
import { startCommerceApi } from './commerce-api.ts'
import { install, versionOf } from './install.ts'
import { type Effort, measure } from './load.ts'
import { startMedusa } from './medusa.ts'
import { startPostgres } from './postgres.ts'
import { endAll, endAllWithThisProcess, wasStopped } from './processes.ts'
import { childrenOf } from './processor.ts'
import { asPage, type Versions } from './report.ts'
import { startVendure } from './vendure.ts'

const page = join(import.meta.dirname, '../peers.md')
const effort: Effort = { clients: 16, rounds: 5, warmUp: 4000, requests: 400, contenders: 100 }

endAllWithThisProcess(25)
process.exitCode = await compare().catch(report)

async function compare(): Promise<number> {
  const folders = { vendure: await install('vendure'), medusa: await install('medusa') }
  console.log('starting the servers …')
  const children = new Set(await childrenOf(process.pid))
  const dynamodb = await startDynamodbLocal()
  const pids = (await childrenOf(process.pid)).filter((pid) => !children.has(pid))
  try {
    const postgres = await startPostgres()
    const ours = await startCommerceApi({ endpoint: dynamodb.endpoint, pids })
    const vendure = await startVendure(postgres, folders.vendure)
    const medusa = await startMedusa(postgres, folders.medusa)
    const figures = await measure([...ours, vendure, medusa], effort)
    await writeFile(page, asPage(figures, effort, await versions(folders, postgres.version)))
    console.log(`written to ${page}`)
    return 0
  } finally {
    await endAll()
    await dynamodb.stop()
  }
}

async function versions(folders: { vendure: string; medusa: string }, postgres: string): Promise<Versions> {
  const [processor] = cpus()
  return {
    node: process.versions.node,
    processor: `${cpus().length} cores of ${processor?.model.trim()}`,
    postgres,
    dynamodbLocal: version,
    vendure: await versionOf(folders.vendure, '@vendure/core'),
    medusa: await versionOf(folders.medusa, '@medusajs/medusa'),
  }
}

/** Errors after the request to stop are not failures. */
function report(error: unknown): number {
  if (!wasStopped()) console.error(error)
  return 1
}
