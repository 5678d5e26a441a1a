import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { customerId } from '#shared/customers/customer-store.ts'
import { importRows } from '#shared/imports/import-rows.ts'
import { prepareImport } from '#shared/imports/prepare-import.ts'
import { fileLimits } from '#shared/imports/split-file.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { type ImportService, startImports } from '#test/imports/import-service.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { localSettings } from '#test/support/settings.ts'

/** The cost of an imported row. */
export interface RowCost {
  way: string
  rowsPerSecond: number
  /** The CPU time of this process, in microseconds. */
  processorMicroseconds: number
}

/** US dollars in us-east-1, on demand. */
const prices = {
  millionWriteUnits: 0.625,
  lambdaGigabyteSecond: 0.0000133334,
  millionLambdaCalls: 0.2,
  thousandTransitions: 0.025,
  millionExpressRuns: 1,
  expressGigabyteSecond: 0.00001667,
  thousandReads: 0.0004,
}
const million = 1_000_000
const { chunk: chunkSize } = fileLimits(localSettings)
/** The AWS price of a million items in a Distributed Map, in batches of a thousand. */
const publishedDollars = 1.75

/** Imports rows with the row function, and the same number with one PutItem each, alternating in one run. */
export async function measureImports(endpoint: string, chunks: number): Promise<RowCost[]> {
  // Without the limit of the rate: what counts here is the work of each row.
  const settings = { ...localSettings, 'imports.writeUnitsPerSecond': million }
  const service = await startImports({ client: testClient(endpoint), settings })
  const rows = chunks * chunkSize.rows
  // One warm-up, so neither pays for first use.
  await byRowFunction(service, 'warm-up', 1)
  await byPuts(endpoint, service.tableName, 'warm-up-puts', chunkSize.rows)
  return [
    await measured('the row function', rows, () => byRowFunction(service, 'first', chunks)),
    await measured('one PutItem a row', rows, () => byPuts(endpoint, service.tableName, 'puts', rows)),
    await measured('the row function, customers known', rows, () => byRowFunction(service, 'first', chunks)),
  ]
}

async function measured(way: string, rows: number, work: () => Promise<void>): Promise<RowCost> {
  const processor = process.cpuUsage()
  const started = performance.now()
  await work()
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(processor)
  return { way, rowsPerSecond: rows / seconds, processorMicroseconds: (user + system) / rows }
}

let uploads = 0
const email = (of: string, n: number) => `customer-${n}@${of}.example.com`

async function byRowFunction(service: ImportService, of: string, chunks: number): Promise<void> {
  // A new name each time, because a file is imported only once.
  const lines = Array.from(
    { length: chunks * chunkSize.rows },
    (_, n) => `${email(of, n)},Name ${uploads},DE`,
  )
  uploads += 1
  const { json } = await service.upload('bench', `email,name,country\n${lines.join('\n')}\n`)
  const ref = { tenant: 'bench', operation_id: json.operation_id as string }
  const prepared = await prepareImport(ref, service.steps)
  if (prepared.next !== 'rows') throw new Error('a file without rows')
  for (const chunk of prepared.chunks) await importRows({ ...ref, chunk }, service.steps)
}

async function byPuts(endpoint: string, table: string, of: string, rows: number): Promise<void> {
  const client = testClient(endpoint)
  for (let n = 0; n < rows; n += 1) {
    const key = keyOf('bench', 'customer', customerId('bench', email(of, n)))
    const item = {
      ...key,
      email: email(of, n),
      name: 'Name',
      country: 'DE',
      schema_version: 1,
      version: `${n}`,
    }
    await client.send(new PutItemCommand({ TableName: table, Item: marshall(item) }))
  }
  client.destroy()
}

/** The calculated costs of a million rows on AWS in US dollars, with the measured CPU time. */
function millionRows([byFunction]: readonly RowCost[]): [string, number][] {
  const chunks = million / chunkSize.rows
  // A function with 1,024 MB has 0.6 of a CPU. It processes the next batch while it waits for the table.
  const seconds = ((byFunction?.processorMicroseconds ?? 0) * million) / 1e6 / 0.6
  const writeUnits = million + chunks * 4
  const lines: [string, number][] = [
    ['Writes of customers and of counted chunks', (writeUnits / million) * prices.millionWriteUnits],
    [
      'Row functions, 1 GB',
      seconds * prices.lambdaGigabyteSecond + (chunks / million) * prices.millionLambdaCalls,
    ],
    [
      'Runs of chunks',
      (chunks / million) * prices.millionExpressRuns + seconds * 0.0625 * prices.expressGigabyteSecond,
    ],
    ['Transitions of the workflow, one for each chunk', (chunks / 1000) * prices.thousandTransitions],
    ['Reads of the file in ranges', (chunks / 1000) * prices.thousandReads],
  ]
  return [...lines, ['All of it', lines.reduce((sum, [, dollars]) => sum + dollars, 0)]]
}

export function importsAsMarkdown(costs: readonly RowCost[]): string {
  return `## Imports

The row function reads its range of the file, checks the rows and writes them, ${chunkSize.rows} at a time, turn by turn
with one PutItem a row in the same run. Rows a second are those of DynamoDB Local on the machine that ran it, which
is the slower part here. On AWS the table keeps up with eight batches at a time, and a function takes the time of its
processor: that is what the sums below go by.

| Way | Rows a second | Processor µs a row |
|---|---|---|
${costs.map(({ way, rowsPerSecond, processorMicroseconds }) => `| ${way} | ${rowsPerSecond.toFixed(0)} | ${processorMicroseconds.toFixed(0)} |`).join('\n')}

A million new customers on paper, at the on-demand prices of us-east-1; AWS gives about ${publishedDollars} USD for a million items of
a Distributed Map at a thousand a batch, without what the items are written to.

| What | USD |
|---|---|
${millionRows(costs)
  .map(([what, dollars]) => `| ${what} | ${dollars.toFixed(3)} |`)
  .join('\n')}
`
}
