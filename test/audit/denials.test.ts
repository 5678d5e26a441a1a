import { beforeEach, describe, expect, test } from '@jest/globals'
import { type DeniedAction, writeDenial } from '#shared/platform/audit/denials.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { Denial, fail } from '#shared/platform/base/failure.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { itemsOf } from '#test/idempotency/scripted-run.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'

const denied = fail('AUTHZ.role.denied')
const caller = { sub: 'u1', tenant: 'acme', role: 'Editor' as const }
let runtime: ReturnType<typeof memoryRuntime>
let own: string
let foreign: string

beforeEach(async () => {
  runtime = memoryRuntime()
  own = newId(runtime.clock)
  foreign = newId(runtime.clock)
  await runtime.table.put({ item: { ...keyOf('acme', 'code', own) }, condition: 'none' })
  await runtime.table.put({ item: { ...keyOf('other', 'code', foreign) }, condition: 'none' })
})

/** Returns the targets of the audit records of a denied attempt. */
async function targetsOf(attempt: Omit<DeniedAction, 'action'>, thrown: Error = denied): Promise<unknown[]> {
  const context = { ...runtime, caller, correlation: { id: 'c1', trace: {} } }
  await writeDenial(thrown, () => ({ action: 'update', ...attempt }), context)
  return itemsOf(runtime, 'audit').map(({ target }) => target)
}

describe('the target of a denial', () => {
  test('is the item that the caller names, if its tenant has it', async () =>
    expect(await targetsOf({ area: 'codes', id: own })).toEqual([`code/${own}`]))

  test('is the area if another tenant has the item', async () =>
    expect(await targetsOf({ area: 'codes', id: foreign })).toEqual(['codes']))

  test('is the area if the item is of another kind', async () =>
    expect(await targetsOf({ area: 'orders', id: own })).toEqual(['orders']))

  test.each([undefined, 7, 'jane@example.com', ''])('is the area if the id is %j', async (id) =>
    expect(await targetsOf({ area: 'codes', id })).toEqual(['codes']),
  )

  test('is the area if the table has no such kind of item', async () =>
    expect(await targetsOf({ area: 'things', id: own })).toEqual(['things']))

  test('is that of the denial, if it has one', async () => {
    const thrown = new Denial(denied, 'AUTHZ.role.denied', 'cart/c1')
    expect(await targetsOf({ area: 'codes', id: own }, thrown)).toEqual(['cart/c1'])
  })
})
