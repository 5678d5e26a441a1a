import { prices } from './prices.ts'

/** A request as measured by the benchmark at DynamoDB. */
export interface MeasuredRequest {
  request: string
  readUnits: number
  writeUnits: number
  /** False for requests to the table for which DynamoDB Local reports no units. */
  charged: boolean
}

/** Assumptions about every request, none of them measured on AWS. */
export const assumed = {
  milliseconds: 20,
  gigabytes: 1,
  logKilobytes: 1,
  /** The line of the access log, which is masked. */
  maskedKilobytes: 0.5,
  /** What Lambda and a function itself write about an invocation without a request: START, END, REPORT and a line. */
  runKilobytes: 0.8,
  /** An event as the archive of the bus stores it. */
  eventKilobytes: 1,
  /**
   * The order with its events and its entry in the index, and for each of them the 100 bytes that DynamoDB adds. The
   * idempotency record expires.
   */
  orderKilobytes: 0.7,
  /** The time until a subscriber has responded. */
  attemptMilliseconds: 200,
  /** `order.created` and `order.placed`. */
  orderEvents: 2,
}

/** Reads the measured units from a section of the benchmark's page. An index entry is a separate write unit. */
export function measuredRequests(page: string, name = 'At DynamoDB'): MeasuredRequest[] {
  const section = page.split('\n## ').find((one) => one.startsWith(name)) ?? ''
  const rows = section.split('\n').filter((line) => /^\| .* \| \d* \| \d+ \|/.test(line))
  return rows.map((row) => {
    const [, request = '', , ...figures] = row.split('|').map((cell) => cell.trim())
    const [requests = 0, readUnits = 0, tableUnits = 0, indexEntries = 0] = figures.map(Number)
    const writeUnits = tableUnits + indexEntries
    return { request, readUnits, writeUnits, charged: requests === 0 || readUnits + writeUnits > 0 }
  })
}

/**
 * USD for a million requests, without the table.
 * @param tracedShare that of a stage
 */
export function basicCosts(tracedShare: number): Record<string, number> {
  const { logKilobytes, maskedKilobytes } = assumed
  return {
    'API Gateway': prices.gatewayRequest.usd,
    'web ACL': prices.webAclRequest.usd,
    Lambda: lambdaCosts(),
    logs: logKilobytes * prices.logIngested.usd,
    'the scan of masked logs': maskedKilobytes * prices.logScanned.usd,
    traces: tracedShare * prices.trace.usd,
  }
}

/** USD for a million calls of a function. */
export function lambdaCosts(milliseconds = assumed.milliseconds): number {
  return prices.lambdaCall.usd + milliseconds * 1000 * assumed.gigabytes * prices.lambdaSecond.usd
}

/** USD of the table for a million requests. */
export function tableCosts({ readUnits, writeUnits }: MeasuredRequest): number {
  return readUnits * prices.readUnit.usd + writeUnits * prices.writeUnit.usd
}
