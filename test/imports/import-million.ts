/** `npm run import:million`: imports a million customers by the deployed workflow, and prints what it took. */
import { startDynamodbLocal } from '#test/support/dynamodb-local.ts'
import { localSettings } from '#test/support/settings.ts'
import { startLargeImports } from './large-import.ts'

const rows = Number(process.argv[2] ?? 1_000_000)
/** The largest file by `file_url` has 100 MB. */
const rowBytes = 99
const dynamodb = await startDynamodbLocal()
process.env.DYNAMODB_ENDPOINT = dynamodb.endpoint
/** As fast as DynamoDB Local takes them. */
const settings = { ...localSettings, 'imports.writeUnitsPerSecond': rows }
const imports = await startLargeImports(settings)
try {
  const small = await imports.run({ tenant: 'small', rows: 2000, rowBytes })
  const large = await imports.run({ tenant: 'large', rows, rowBytes }, async ({ index }, { runTwice }) => {
    if (index % 100 === 0) console.log(`chunk ${index}, which runs twice`)
    if (index % 100 === 0) await runTwice()
  })
  const { counts } = large.operation.result ?? {}
  console.log(`${large.fileMegabytes.toFixed(0)} MB, ${large.operation.chunks_total} chunks`)
  console.log(`counts ${JSON.stringify(counts)}; ${large.customers} customers are stored`)
  console.log(`${large.seconds.toFixed(0)} s: ${(rows / large.seconds).toFixed(0)} rows a second`)
  for (const [step, peak] of Object.entries(large.peakMegabytes)) {
    const before = small.peakMegabytes[step as keyof typeof small.peakMegabytes]
    console.log(`${step}: ${peak.toFixed(0)} MB at most, ${before.toFixed(0)} MB after 2,000 rows`)
  }
} finally {
  await imports.stop()
  await dynamodb.stop()
}
