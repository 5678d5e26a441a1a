import { beforeAll, expect, test } from '@jest/globals'
import { clientIn, languages } from '#test/generated-clients/generate.ts'
import type { Deployment } from './deployment.ts'

/** What a client prints. */
interface Results {
  created: [number, string]
  replayed: [number, string]
  same: boolean
  error: string | null
  read: number
  orders: string[]
  pages: string[][]
  customers: { state: string; result: { counts: object } }
  codes: { counts: object }
}

const programs = { 'Python by openapi-python-client': 'use-service.py', Java: 'UseService.java' } as const
const suites = await Promise.all(
  Object.entries(programs).map(async ([name, program]) => {
    const language = name as keyof typeof programs
    return [await clientIn(language), language, program] as const
  }),
)

/** Clients that tools of other projects generate from openapi.json, on the deployed stack. */
export function generatedClients(deployment: () => Deployment): void {
  for (const [[suite, title], language, program] of suites)
    suite(title, () => {
      let report: string
      let results: Results
      beforeAll(async () => {
        const { base_url, token } = deployment()
        const client = await languages[language].generate()
        const who = { tenant: `generated-${program.toLowerCase()}`, scope: 'codes:read codes:write' }
        report = client.report
        results = await client.use(program, { base_url, token: await token(who) })
      }, 300_000)

      test('has every operation: the generator reports no problem', () => {
        expect(report).not.toMatch(/warn|error/i)
      })

      test('creates an order', () => {
        expect(results.created).toEqual([201, 'stored'])
      })

      test('repeats a request', () => {
        expect(results.replayed).toEqual([201, 'replayed'])
      })

      test('gets the same response to a repeated request', () => {
        expect(results.same).toBe(true)
      })

      test('gets a typed error', () => {
        expect(results.error).toBe('CONFLICT.idempotency.payload_mismatch')
      })

      test('reads an order', () => {
        expect(results.read).toBe(1)
      })

      test('pages through the orders', () => {
        const [first = '', second = '', third = ''] = results.orders
        expect(results.pages).toEqual([[third, second], [first]])
      })

      test('imports a file of customers', () => {
        expect(results.customers).toMatchObject({
          state: 'succeeded',
          result: { counts: { total: 2, succeeded: 1, failed: 1 } },
        })
      })

      test('imports a file of codes', () => {
        expect(results.codes.counts).toEqual({ total: 1, succeeded: 1, failed: 0 })
      })
    })
}
