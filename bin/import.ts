/** `npm run import`: imports a file of customers and shows its progress and result. */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { run } from './command.ts'
import { issueToken } from './token.ts'

const usage = `usage: npm run import -- --file customers.csv --tenant T [--url BASE_URL --token TOKEN] [--settings FILE]
Without --url it imports into the service of npm start, with a token of the local issuer.`
const barWidth = 30
const pausesMilliseconds = [0, 200, 400, 800, 1600]

interface Service {
  baseUrl: string
  token: string
}

/** An operation as the service returns it. */
interface Operation {
  operation_id: string
  state: string
  progress: number
  result?: {
    outcome: string
    counts: { total: number; succeeded: number; failed: number }
    rejects: { row: number; code: string; field: string | null }[]
    rejects_url?: string
  }
  error?: { code: string; details: object }
}

/** A problem that the person at the terminal can fix. */
class ImportError extends Error {}

/** Retries transient failures. An upload that is sent twice is imported once. */
async function call({ baseUrl, token }: Service, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, ...init.headers }
  let answer: Response | undefined
  for (const pause of pausesMilliseconds) {
    await sleep(pause * Math.random())
    answer = await fetch(`${baseUrl}${path}`, { ...init, headers }).catch(() => undefined)
    if (answer?.ok) return answer
    if (answer && answer.status < 500 && answer.status !== 429) break
  }
  if (!answer) throw new ImportError(`${baseUrl} cannot be reached`)
  const { error } = (await answer.json().catch(() => ({}))) as Partial<Pick<Operation, 'error'>>
  throw new ImportError(`The service refused it: ${answer.status} ${error?.code ?? ''} ${detailsOf(error)}`)
}

function detailsOf(error: Operation['error']): string {
  return Object.keys(error?.details ?? {}).length > 0 ? JSON.stringify(error?.details) : ''
}

/** Polls until the operation ends, and shows each response. */
async function follow(service: Service, id: string, query: string): Promise<Operation> {
  for (;;) {
    const answer = await call(service, `/operations/${id}${query}`)
    const operation = (await answer.json()) as Operation
    showProgress(operation)
    if (!['pending', 'running'].includes(operation.state)) return operation
    await sleep(1000 * Number(answer.headers.get('Retry-After') ?? 1))
  }
}

function showProgress({ state, progress }: Operation): void {
  const filled = Math.round(progress * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const line = `${bar} ${String(Math.floor(progress * 100)).padStart(3)} %  ${state}`
  if (process.stdout.isTTY) process.stdout.write(`\r${line.padEnd(barWidth + 20)}`)
  else console.log(line)
}

/** Prints the result of an operation. @returns whether everything was imported */
function tell({ state, result, error }: Operation): boolean {
  if (process.stdout.isTTY) console.log()
  if (error) console.log(`The import failed: ${error.code} ${detailsOf(error)}`)
  if (!result) return false
  const { outcome, counts, rejects, rejects_url } = result
  const number = (count: number) => count.toLocaleString('en')
  console.log(
    `${outcome}${state === 'canceled' ? ' (canceled)' : ''}: of ${number(counts.total)} rows, ` +
      `${number(counts.succeeded)} were imported and ${number(counts.failed)} refused.`,
  )
  for (const { row, code, field } of rejects.slice(0, 10)) {
    console.log(`  row ${row}: ${code}${field === null ? '' : ` (${field})`}`)
  }
  if (counts.failed > 10) console.log(`  and ${number(counts.failed - 10)} more`)
  if (rejects_url) console.log(`All of them, for some minutes: ${rejects_url}`)
  return outcome === 'SUCCESS'
}

async function serviceOf(values: {
  url?: string | undefined
  token?: string | undefined
  tenant: string
  settings?: string | undefined
}): Promise<Service> {
  const { url, token, tenant, settings } = values
  if (url !== undefined && token === undefined) throw new ImportError('--url needs a --token for it')
  const file = join(import.meta.dirname, '../.local/service.json')
  const local = async () => {
    const text = await readFile(file, 'utf8').catch(() => {
      throw new ImportError('the local service is not running: start it with npm start, or name a --url')
    })
    return String(JSON.parse(text).base_url)
  }
  return {
    baseUrl: (url ?? (await local())).replace(/\/$/, ''),
    token: token ?? (await issueToken({ tenant, role: 'Editor', sub: 'import' }, settings)),
  }
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: { file: text, tenant: text, url: text, token: text, settings: text },
  })
  const { file, tenant } = values
  if (file === undefined || tenant === undefined) throw new ImportError('file and tenant are needed')
  const service = await serviceOf({ ...values, tenant })
  const body = await readFile(file).catch(() => {
    throw new ImportError(`${file} cannot be read`)
  })
  const query = `?tenant=${encodeURIComponent(tenant)}`
  const headers = { 'Content-Type': 'text/csv' }
  const begun = await call(service, `/imports${query}`, { method: 'POST', headers, body })
  const { operation_id: id } = (await begun.json()) as Operation
  const replayed = begun.headers.get('Idempotency-Status') === 'replayed'
  console.log(replayed ? `${basename(file)} was imported before: operation ${id}` : `operation ${id}`)
  if (!tell(await follow(service, id, query))) process.exitCode = 1
}

if (import.meta.main) await run(usage, main)
