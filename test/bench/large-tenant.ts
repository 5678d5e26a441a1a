import { makeCode } from '#shared/codes/code.ts'
import { createCode } from '#shared/codes/code-store.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { idAt } from '#test/support/ids.ts'
import { localSettings } from '#test/support/settings.ts'
import { fill } from './fill.ts'
import { type Cost, type Meter, metered } from './meter.ts'

/** The cost of one request in a tenant with many codes. */
export interface LargeCost extends Cost {
  milliseconds: number
  /** The growth of the process meanwhile, in MB of 1,048,576 bytes. */
  grownMegabytes: number
}

const tenant = 'large'
const admin = { tenant, role: 'Admin', scope: 'codes:read' }

/** Lists, searches and exports a tenant with this many codes. */
export async function measureLargeTenant(endpoint: string, codes: number): Promise<LargeCost[]> {
  const large: LargeCost[] = []
  // DynamoDB Local needs almost the whole time of a request for an export.
  const run = async ({ service, client, costs, measure }: Meter) => {
    await fill(client, service.tableName, codesOf(codes))
    const requests = {
      list: '/codes?page_size=100',
      'list by text': '/codes?sort=code.asc&page_size=100',
      'search what one in ten has': '/codes?q=7%20percent',
      'search what none has': '/codes?q=nowhere',
      'find by text': `/codes?code=CODE-${codes - 1}`,
      export: '/codes:export',
    }
    for (const [request, path] of Object.entries(requests)) {
      const before = process.memoryUsage().rss
      const started = performance.now()
      await measure(request, { path, as: admin })
      const milliseconds = performance.now() - started
      const grownMegabytes = Math.max(0, process.memoryUsage().rss - before) / 2 ** 20
      const cost = costs.at(-1)
      if (cost) large.push({ ...cost, milliseconds, grownMegabytes })
    }
  }
  await metered(endpoint, run, {
    'requests.timeoutHeader': {
      unit: 'milliseconds',
      minMilliseconds: 1,
      maxMilliseconds: 26_000,
    },
  })
  return large
}

function codesOf(count: number): Item[] {
  const start = Date.now() - count
  return Array.from({ length: count }, (_, n) => {
    const id = idAt(start + n)
    const request = {
      code: `CODE-${n}`,
      type: 'percent-10',
      name: `${n % 10} percent off, number ${n}`,
      expiry_at: '2099-01-01T00:00:00.000Z',
    }
    const code = makeCode(request, { id, tenant, createdBy: 'bench' }, localSettings)
    return createCode(code).flatMap((write) => ('item' in write ? [write.item] : []))
  }).flat()
}
