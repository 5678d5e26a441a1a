import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '../../cli/output.ts'

const pausesMilliseconds = [0, 200, 400, 800, 1600]

interface Service {
  baseUrl: string
  token: string
  tenant: string
}

/** An operation as the service returns it. */
interface PolledOperation {
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

/** The result of an import. */
interface Imported {
  operation_id: string
  /** Whether the file was imported before. */
  replayed: boolean
  /** SUCCESS, PARTIAL or FAILED; the state of the operation if it has no result. */
  outcome: string
  total: number
  succeeded: number
  failed: number
  rejects: { row: number; code: string; field: string | null }[]
  rejects_url?: string
}

/**
 * Imports a file of customers and waits for the end.
 * @throws Error if the service rejects the file, or if the import fails as a whole
 */
export async function importCustomers(file: string, service: Service, report: Report): Promise<Imported> {
  const body = await readFile(file).catch(() => {
    throw new Error(`${file} cannot be read`)
  })
  const response = await call(service, '/imports', {
    method: 'POST',
    headers: { 'Content-Type': 'text/csv' },
    body,
  })
  const { operation_id } = (await response.json()) as PolledOperation
  const { state, result, error } = await follow(service, operation_id, report)
  if (error) throw new Error(`The import failed: ${textOf(error)}`)
  const { outcome = state, counts, rejects = [], rejects_url } = result ?? {}
  return {
    operation_id,
    replayed: response.headers.get('Idempotency-Status') === 'replayed',
    outcome: state === 'canceled' ? `${outcome} (canceled)` : outcome,
    ...(counts ?? { total: 0, succeeded: 0, failed: 0 }),
    rejects,
    ...(rejects_url !== undefined && { rejects_url }),
  }
}

/** Retries transient failures. An upload that is sent twice is imported once. */
async function call(
  { baseUrl, token, tenant }: Service,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, ...init.headers }
  const url = `${baseUrl}${path}?tenant=${encodeURIComponent(tenant)}`
  let response: Response | undefined
  for (const pause of pausesMilliseconds) {
    await sleep(pause * Math.random())
    response = await fetch(url, { ...init, headers }).catch(() => undefined)
    if (response?.ok) return response
    if (response && response.status < 500 && response.status !== 429) break
  }
  if (!response) throw new Error(`${baseUrl} cannot be reached`)
  const { error } = (await response.json().catch(() => ({}))) as Partial<PolledOperation>
  throw new Error(`The service rejected the request: ${response.status} ${textOf(error)}`)
}

function textOf(error: PolledOperation['error']): string {
  const { code = '', details = {} } = error ?? {}
  return Object.keys(details).length > 0 ? `${code} ${JSON.stringify(details)}` : code
}

/** Polls until the operation ends, and reports its progress. */
async function follow(service: Service, id: string, report: Report): Promise<PolledOperation> {
  for (;;) {
    const response = await call(service, `/operations/${id}`)
    const operation = (await response.json()) as PolledOperation
    report(operation.state, operation.progress)
    if (!['pending', 'running'].includes(operation.state)) return operation
    await sleep(1000 * Number(response.headers.get('Retry-After') ?? 1))
  }
}
