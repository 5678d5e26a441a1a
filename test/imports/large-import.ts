import { Readable } from 'node:stream'
import { Upload } from '@aws-sdk/lib-storage'
import { customerId } from '#shared/customers/customer-store.ts'
import { fileKey, type ImportStep, importSteps } from '#shared/imports/import.ts'
import type { Chunk } from '#shared/imports/split-file.ts'
import { newOperation, type Operation } from '#shared/operations/operation.ts'
import { createOperation } from '#shared/operations/operation-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { startLocalS3 } from '#test/aws/local-s3.ts'
import { bundleFunctions, type FunctionProcess } from '#test/faults/function-process.ts'
import { startService } from '#test/support/service.ts'
import { createTable } from '#test/support/tables.ts'
import { importStates, stepOf } from './import-states.ts'
import { type Run, runMachine } from './run-machine.ts'

/** Processes of the function of rows. The state machine of the tests runs at most four chunks at the same time. */
const rowProcesses = 4
/** The most keys of one read. */
const keysAtOnce = 100
const folders: Record<ImportStep, string> = {
  prepare: 'imports/prepare-import',
  rows: 'imports/import-rows',
  end: 'imports/end-import',
}

/** A file of customers, all of them new. */
interface LargeFile {
  tenant: string
  rows: number
  /** The length of a row in bytes, without its line break. */
  rowBytes: number
}

export interface LargeImports {
  /** Imports a file. @param onChunk called for each chunk of the map before its function, with the ways to disturb it */
  run(file: LargeFile, onChunk?: (chunk: Chunk, disturb: Disturb) => Promise<void>): Promise<LargeRun>
  stop(): Promise<void>
}

interface Disturb {
  /** Runs the chunk in another process, in addition. */
  runTwice(): Promise<unknown>
  /** Asks for the cancellation of the import when all chunks that began before this one have ended. */
  cancel(): Promise<void>
}

export interface LargeRun {
  run: Run
  operation: Operation
  /** The number of the tenant's customers in the table. */
  customers: number
  /** The time from the first step to the last one. */
  seconds: number
  fileMegabytes: number
  /** The most memory that a process of each step has used so far, without garbage, in MB. */
  peakMegabytes: Record<ImportStep, number>
}

/** Returns whether the row of a large file is bad: one in a hundred. */
const isBad = (row: number) => row % 100 === 50
export const badRows = (rows: number) => Array.from({ length: rows }, (_, n) => n + 1).filter(isBad).length

/**
 * Starts the import workflow for large files: the deployed definition, the bundled functions in processes, a table on
 * DynamoDB Local without a stream, and files in the local S3.
 */
export async function startLargeImports(settings: Settings): Promise<LargeImports> {
  const s3 = await startLocalS3()
  const tableName = await createTable()
  const service = await startService({ tableName, settings })
  const functions = await bundleFunctions(folders, settings, {
    AWS_ENDPOINT_URL_DYNAMODB: process.env.DYNAMODB_ENDPOINT ?? '',
    AWS_ENDPOINT_URL_S3: s3.aws.endpoint,
    AWS_ACCESS_KEY_ID: s3.aws.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.aws.credentials.secretAccessKey,
    TABLE_NAME: tableName,
    FILES_BUCKET: s3.bucket,
  })
  const pools = Object.fromEntries(
    await Promise.all(
      Object.keys(importSteps).map(async (step) => {
        const count = step === 'rows' ? rowProcesses : 1
        const processes = Array.from({ length: count }, () => functions.start(step))
        return [step, poolOf(await Promise.all(processes))] as const
      }),
    ),
  ) as Record<ImportStep, Pool>
  const definition = importStates()
  await peaksOf(pools)

  return {
    async run(file, onChunk) {
      const { tenant } = file
      const id = newId(systemClock)
      const upload = { Bucket: s3.bucket, Key: fileKey(id), Body: Readable.from(bytesOf(file)) }
      await new Upload({ client: s3.client, params: upload }).done()
      const origin = { id, tenant_id: tenant, correlation_id: 'large', file_hash: id }
      const operation = newOperation({ ...origin, source: { kind: 'inline' } }, settings)
      await service.table.transact(createOperation(operation, 'imports', settings))
      const chunks: Promise<unknown>[] = []
      const cancelAfter = async (earlier: readonly Promise<unknown>[]) => {
        await Promise.allSettled(earlier)
        const as = { tenant, role: 'Editor' }
        const { status } = await service.call({
          method: 'POST',
          path: `/operations/${id}:cancel`,
          as,
          body: {},
        })
        if (status !== 200) throw new Error(`the cancellation is answered ${status}`)
      }
      const started = performance.now()
      const run = await runMachine(
        definition,
        { tenant, operation_id: id },
        {
          async invoke(resource, input) {
            const step = stepOf(resource)
            const call = () => pools[step].send(input)
            if (step !== 'rows' || !onChunk) return call()
            const earlier = [...chunks]
            const cancel = () => cancelAfter(earlier)
            const chunk = onChunk(input.chunk, { runTwice: call, cancel }).then(call)
            chunks.push(chunk)
            return chunk
          },
        },
      )
      const seconds = (performance.now() - started) / 1000
      const ended = await service.table.get(keyOf(tenant, 'operation', id))
      return {
        run,
        operation: ended as unknown as Operation,
        customers: await customersOf(file, service.table),
        seconds,
        fileMegabytes: (file.rows * (file.rowBytes + 1)) / 1e6,
        peakMegabytes: await peaksOf(pools),
      }
    },
    async stop() {
      await functions.stop()
      await s3.stop()
    },
  }
}

const emailOf = (tenant: string, row: number) => `customer-${row}@${tenant}.example.com`

/** Yields the file in pieces of about 64 KB. */
function* bytesOf({ tenant, rows, rowBytes }: LargeFile): Generator<Buffer> {
  yield Buffer.from('email,name\n')
  const rowsOfPiece = Math.ceil(65_536 / rowBytes)
  for (let first = 1; first <= rows; first += rowsOfPiece) {
    const length = Math.min(rowsOfPiece, rows - first + 1)
    const lines = Array.from({ length }, (_, n) => {
      const cell = isBad(first + n) ? 'bad' : emailOf(tenant, first + n)
      return `${cell},`.padEnd(rowBytes, 'n')
    })
    yield Buffer.from(`${lines.join('\n')}\n`)
  }
}

interface Pool {
  /** Sends an event to the next process that is free. */
  send(event: object): Promise<unknown>
  peakMegabytes(): Promise<number>
}

/** Each process handles one event at a time, like a function on Lambda. */
function poolOf(processes: readonly FunctionProcess[]): Pool {
  const free = [...processes]
  const waiting: ((one: FunctionProcess) => void)[] = []
  return {
    async send(event) {
      const one = free.pop() ?? (await new Promise<FunctionProcess>((resolve) => waiting.push(resolve)))
      try {
        return await one.send(event)
      } finally {
        const next = waiting.shift()
        if (next) next(one)
        else free.push(one)
      }
    },
    async peakMegabytes() {
      const peaks = await Promise.all(processes.map((one) => one.peakMegabytes()))
      return Math.max(...peaks)
    },
  }
}

async function peaksOf(pools: Record<ImportStep, Pool>): Promise<Record<ImportStep, number>> {
  const peaks = Object.entries(pools).map(async ([step, pool]) => [step, await pool.peakMegabytes()] as const)
  return Object.fromEntries(await Promise.all(peaks)) as Record<ImportStep, number>
}

/** Counts the stored customers of a file by key: counting a large partition takes DynamoDB Local minutes. */
async function customersOf({ tenant, rows }: LargeFile, table: Table): Promise<number> {
  let found = 0
  for (let first = 1; first <= rows; first += keysAtOnce) {
    const length = Math.min(keysAtOnce, rows - first + 1)
    const emails = Array.from({ length }, (_, n) => emailOf(tenant, first + n))
    const keys = emails.map((email) => keyOf(tenant, 'customer', customerId(tenant, email)))
    found += (await table.getMany(keys)).length
  }
  return found
}
