import { prices } from './prices.ts'

/** A request as measured by the benchmark at DynamoDB. */
interface MeasuredRequest {
  request: string
  readUnits: number
  writeUnits: number
  /** False for requests to the table for which DynamoDB Local reports no units. */
  charged: boolean
}

/** Assumptions about every request, none of them measured on AWS. */
export const assumed = { milliseconds: 20, gigabytes: 1, logKilobytes: 1, tracedShare: 0.05 }

/** Reads the measured units from the first table of the benchmark's page. An index entry is a separate write unit. */
export function measuredRequests(page: string): MeasuredRequest[] {
  const section = page.split('\n## ').find((one) => one.startsWith('At DynamoDB')) ?? ''
  const rows = section.split('\n').filter((line) => /^\| .* \| \d* \| \d+ \|/.test(line))
  return rows.map((row) => {
    const [, request = '', , ...figures] = row.split('|').map((cell) => cell.trim())
    const [requests = 0, readUnits = 0, tableUnits = 0, indexEntries = 0] = figures.map(Number)
    const writeUnits = tableUnits + indexEntries
    return { request, readUnits, writeUnits, charged: requests === 0 || readUnits + writeUnits > 0 }
  })
}

/** USD for a million requests, without the table. */
export function basicCosts(): Record<'API Gateway' | 'web ACL' | 'Lambda' | 'logs' | 'traces', number> {
  const { milliseconds, gigabytes, logKilobytes, tracedShare } = assumed
  return {
    'API Gateway': prices.gatewayRequest.usd,
    'web ACL': prices.webAclRequest.usd,
    Lambda: prices.lambdaCall.usd + milliseconds * 1000 * gigabytes * prices.lambdaSecond.usd,
    logs: logKilobytes * prices.logIngested.usd,
    traces: tracedShare * prices.trace.usd,
  }
}

/** USD of the table for a million requests. */
export function tableCosts({ readUnits, writeUnits }: MeasuredRequest): number {
  return readUnits * prices.readUnit.usd + writeUnits * prices.writeUnit.usd
}
