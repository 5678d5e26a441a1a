/** `npm run import`: imports a file of customers and shows its progress and result. */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { command } from './command.ts'
import { runningService } from './local/service-file.ts'
import { issueToken } from './token.ts'

const usage = `usage: npm run import -- --file customers.csv --tenant T [--url BASE_URL --token TOKEN] [--settings FILE]
Imports customers and shows the progress and the result. Without --url it imports into the local run, with a token of the
local issuer.`
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

/** Retries transient failures. An upload that is sent twice is imported once. */
async function call({ baseUrl, token }: Service, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, ...init.headers }
  let response: Response | undefined
  for (const pause of pausesMilliseconds) {
    await sleep(pause * Math.random())
    response = await fetch(`${baseUrl}${path}`, { ...init, headers }).catch(() => undefined)
    if (response?.ok) return response
    if (response && response.status < 500 && response.status !== 429) break
  }
  if (!response) throw new Error(`${baseUrl} cannot be reached`)
  const { error } = (await response.json().catch(() => ({}))) as Partial<Operation>
  throw new Error(`The service rejected the request: ${response.status} ${textOf(error)}`)
}

function textOf(error: Operation['error']): string {
  const { code = '', details = {} } = error ?? {}
  return Object.keys(details).length > 0 ? `${code} ${JSON.stringify(details)}` : code
}

/** Polls until the operation ends, and shows each response. */
async function follow(service: Service, id: string, query: string): Promise<Operation> {
  for (;;) {
    const response = await call(service, `/operations/${id}${query}`)
    const operation = (await response.json()) as Operation
    showProgress(operation)
    if (!['pending', 'running'].includes(operation.state)) return operation
    await sleep(1000 * Number(response.headers.get('Retry-After') ?? 1))
  }
}

function showProgress({ state, progress }: Operation): void {
  const bar = '█'.repeat(Math.round(progress * barWidth)).padEnd(barWidth, '░')
  const line = `${bar} ${String(Math.floor(progress * 100)).padStart(3)} %  ${state}`
  if (process.stdout.isTTY) process.stdout.write(`\r${line.padEnd(barWidth + 20)}`)
  else console.log(line)
}

/** Prints the result of an operation. @returns whether everything was imported */
function showResult({ state, result, error }: Operation): boolean {
  if (process.stdout.isTTY) console.log()
  if (error) console.log(`The import failed: ${textOf(error)}`)
  if (!result) return false
  const { outcome, counts, rejects, rejects_url } = result
  const [total, succeeded, failed] = [counts.total, counts.succeeded, counts.failed].map((count) =>
    count.toLocaleString('en'),
  )
  const title = state === 'canceled' ? `${outcome} (canceled)` : outcome
  console.log(`${title}: ${total} rows, ${succeeded} imported, ${failed} rejected`)
  for (const { row, code, field } of rejects.slice(0, 10))
    console.log(`  row ${row}: ${code}${field === null ? '' : ` (${field})`}`)
  if (counts.failed > 10) console.log(`  and ${(counts.failed - 10).toLocaleString('en')} more`)
  if (rejects_url) console.log(`All rejected rows, available for some minutes: ${rejects_url}`)
  return outcome === 'SUCCESS'
}

if (import.meta.main) {
  const names = { file: 'required', tenant: 'required' } as const
  const options = { ...names, url: 'optional', token: 'optional', settings: 'optional' } as const
  await command(usage, options, async ({ file, tenant, url, token, settings }) => {
    if (url !== undefined && token === undefined) throw new Error('--url requires --token')
    const body = await readFile(file).catch(() => {
      throw new Error(`${file} cannot be read`)
    })
    const service = {
      baseUrl: (url ?? runningService('--url').base_url).replace(/\/$/, ''),
      token: token ?? (await issueToken({ tenant, role: 'Editor', sub: 'import' }, settings)),
    }
    const query = `?tenant=${encodeURIComponent(tenant)}`
    const headers = { 'Content-Type': 'text/csv' }
    const response = await call(service, `/imports${query}`, { method: 'POST', headers, body })
    const { operation_id: id } = (await response.json()) as Operation
    const replayed = response.headers.get('Idempotency-Status') === 'replayed'
    console.log(replayed ? `${basename(file)} was imported before: operation ${id}` : `operation ${id}`)
    if (!showResult(await follow(service, id, query))) process.exitCode = 1
  })
}
