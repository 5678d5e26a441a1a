import { describe, expect, test } from '@jest/globals'
import { fail } from '#shared/platform/base/failure.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { outcome } from '#test/support/outcome.ts'
import { editor, startImports } from '../imports/import-service.ts'
import { serving } from './file-network.ts'

const service = await startImports()

const begin = async (tenant: string) => {
  const answer = await service.call({
    method: 'POST',
    path: '/imports',
    as: { ...editor, tenant },
    body: { file_url: 'https://files.example/customers.csv?signature=hidden' },
  })
  expect(answer.status).toBe(202)
  return answer.json.operation_id as string
}
const file = Buffer.from('email\na@example.com\nb@\n')

describe('an import by file_url', () => {
  test('downloads and imports the file, and deletes its URL', async () => {
    const id = await begin('fetched')
    expect((await service.operation('fetched', id)).source).toMatchObject({ kind: 'url' })
    await service.run('fetched', id, { network: serving([file]) })
    const { json } = await service.read('fetched', id)
    expect([json.state, json.result.counts]).toEqual(['succeeded', { total: 2, succeeded: 1, failed: 1 }])
    expect(JSON.stringify(await service.operation('fetched', id))).not.toContain('hidden')
  })

  test('retries if the host fails, and fails if the host does not recover', async () => {
    const passing = await begin('failing')
    await service.run('failing', passing, { network: serving(['broken', 'broken', file]) })
    expect((await service.read('failing', passing)).json.state).toBe('succeeded')
    const lasting = await begin('failing')
    await service.run('failing', lasting, { network: serving(['broken']) })
    const { state, error } = (await service.read('failing', lasting)).json
    expect([state, error.code, error.retryable]).toEqual(['failed', 'DEPENDENCY.bad_gateway', true])
  })

  test('of a name that resolves to a private address fails with its error code', async () => {
    const id = await begin('inner')
    await service.run('inner', id, { network: serving([file], { addresses: ['10.0.0.1'] }) })
    const { state, error } = (await service.read('inner', id)).json
    expect([state, error.code, error.details]).toMatchObject([
      'failed',
      'VALIDATION.url.private_range',
      { fields: { file_url: { reason: 'private_range' } } },
    ])
  })

  test('of a private address is rejected at once', async () => {
    const as = { ...editor, tenant: 'literal' }
    const body = { file_url: 'https://10.0.0.1/f.csv' }
    const answer = await service.call({ method: 'POST', path: '/imports', as, body })
    expect(outcome(answer)).toBe('400 VALIDATION.url.private_range')
    expect(await service.items('literal', 'operation')).toEqual([])
  })

  test('of a file that was already imported returns the first result, with or without a byte order mark', async () => {
    const first = (await service.upload('known', file)).json.operation_id
    await service.run('known', first)
    const id = await begin('known')
    const marked = Buffer.concat([Buffer.from('\ufeff'), file])
    const steps: string[] = []
    const around = (step: string, _input: unknown, work: () => Promise<unknown>) => {
      steps.push(step)
      return work()
    }
    await service.run('known', id, { network: serving([marked]), around })
    const [one, other] = [await service.operation('known', first), await service.operation('known', id)]
    expect([other.state, other.result]).toEqual(['succeeded', one.result])
    expect(steps).toEqual(['prepare', 'end'])
  })
})

describe('a host that is too slow', () => {
  const limits = { deadlineSeconds: 60, graceSeconds: 0.05, minBytesPerSecond: 1000 }

  /** Runs an import from a host that stops after the head. @returns the invoked steps */
  async function runSlow(tenant: string, onRequest: () => void) {
    const as = { ...editor, tenant }
    const body = { file_url: 'https://files.example/slow.csv' }
    const { json } = await service.call({ method: 'POST', path: '/imports', as, body })
    const steps: string[] = []
    await service.run(tenant, json.operation_id, {
      network: serving(['silent'], { onRequest }),
      limits,
      around: (step, _input, work) => {
        steps.push(step)
        return work()
      },
    })
    return { steps, operation: (await service.read(tenant, json.operation_id)).json }
  }

  test('fails the operation after one request, and the workflow does not retry the step', async () => {
    let requests = 0
    const { steps, operation } = await runSlow('slow', () => {
      requests += 1
    })
    expect([operation.state, operation.error.code, operation.error.details]).toMatchObject([
      'failed',
      'DEPENDENCY.timeout',
      { reason: 'too_slow', limit: 'rate' },
    ])
    expect(requests).toBe(1)
    expect(steps).toEqual(['prepare', 'end'])
  })

  test('fails the operation even if the budget of the step ends', async () => {
    const { table } = service.steps
    const spent = new Proxy(table, {
      get: () => async () => {
        throw fail('DEPENDENCY.timeout')
      },
    })
    let current: Table = table
    const swapping = new Proxy(table, { get: (_, name) => Reflect.get(current, name) })
    Object.assign(service.steps, { table: swapping })
    const { operation } = await runSlow('spent', () => {
      current = spent
    }).finally(() => Object.assign(service.steps, { table }))
    expect(operation.state).toBe('failed')
  })
})
