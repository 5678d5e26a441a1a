import { describe, expect, test } from '@jest/globals'
import type { Operator } from '#bin/commands/stack/operator-audit.ts'
import { blockTenant, maxBlockedTenants, unblockTenant } from '#bin/commands/tenants/block-tenant.ts'
import { connectAccount } from '#bin/commands/tenants/connect-account.ts'
import { purgeTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { findOperation, moveOperation } from '#shared/operations/operation-store.ts'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { blockedTenantsPut, readBlockedTenants } from '#shared/platform/identity/blocked-tenants.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { accountsOf, allAccounts } from '#shared/refunds/accounts.ts'
import { positionKey } from '#shared/refunds/reconcile-daily.ts'
import { startImports } from '#test/imports/import-service.ts'
import { movableClock } from '#test/support/clocks.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { outcome } from '#test/support/outcome.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { handleReceived, sendEvent } from '#test/support/received-events.ts'
import { type Service, type ServiceOptions, startService } from '#test/support/service.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import { newMemoryTable } from '#test/support/tables.ts'

const start = Date.parse('2026-03-01T12:00:00Z')

async function serviceWithClock(options: ServiceOptions = {}) {
  const clock = movableClock(start)
  const service = await startService({ clock, remembers: true, ...options })
  const operator: Operator = { table: service.table, clock, name: 'jane' }
  return { service, clock, operator }
}

/** Blocks a tenant that may have no data. */
const block = (operator: Operator, tenant: string) => blockTenant(operator, tenant, { force: true })

describe('a blocked tenant', () => {
  test('is rejected 30 seconds later at the latest, and again admitted 30 seconds after the block', async () => {
    const { service, clock, operator } = await serviceWithClock()
    const outcomes: string[] = []
    const ask = async (key: string) => outcomes.push(outcome(await placeOrder(service, 'acme', { key })))
    await ask('before')
    await block(operator, 'acme')
    clock.advance(30_000)
    await ask('blocked')
    await unblockTenant(operator, 'acme')
    clock.advance(30_000)
    await ask('after')
    expect(outcomes).toEqual(['201', '403 POLICY.account.locked', '201'])
  })

  test('has no effect on others', async () => {
    const { service, operator } = await serviceWithClock()
    await block(operator, 'acme')
    expect((await placeOrder(service, 'other')).status).toBe(201)
  })

  test('cannot be addressed by an Admin of another tenant', async () => {
    const { service, operator } = await serviceWithClock()
    await block(operator, 'acme')
    const as = { tenant: 'other', role: 'Admin' }
    const answer = await service.call({ path: '/v1/orders?tenant=acme', as })
    expect(outcome(answer)).toBe('403 POLICY.account.locked')
  })

  test('is named in the log of its rejected requests, which leave no audit record', async () => {
    const { service, operator } = await serviceWithClock()
    await block(operator, 'acme')
    await placeOrder(service, 'acme')
    expect(service.lines.at(-1)).toMatchObject({ tenant: 'acme', status: 403 })
    expect(await service.items('acme', 'audit')).toMatchObject([
      { actor_id: 'jane', action: 'tenant.block', target: 'tenant' },
    ])
  })

  const asAdmin = { tenant: 'other', role: 'Admin', scope: 'codes:read codes:write' }
  const reason = { 'X-Audit-Log-Reason': 'a mistake' }

  /** Blocks a tenant half a minute ago. @returns the id of the item that it had created before */
  async function blockedWithItem(create: (service: Service) => Promise<{ json: { id: string } }>) {
    const { service, operator, clock } = await serviceWithClock()
    const { id } = (await create(service)).json
    await blockTenant(operator, 'acme')
    clock.advance(30_000)
    return { service, id }
  }
  const blockedWithOrder = () => blockedWithItem((service) => placeOrder(service, 'acme'))

  test('has no order that an Admin of another tenant can read by its id', async () => {
    const { service, id } = await blockedWithOrder()
    const answer = await service.call({ path: `/v1/orders/${id}`, as: asAdmin })
    expect(outcome(answer)).toBe('403 POLICY.account.locked')
  })

  test.each([
    ['GET', '', {}],
    ['PATCH', '', { headers: { 'If-Match': '*' }, body: { name: 'Another name' } }],
    ['DELETE', '', {}],
    ['DELETE', '?force=true', { headers: reason }],
    ['POST', ':restore', { headers: { 'Idempotency-Key': 'restore' } }],
    ['POST', ':share', { headers: { 'Idempotency-Key': 'share' }, body: { grantee_tenant: 'third' } }],
  ])('has no code that an Admin of another tenant can name: %s /codes/ID%s', async (method, suffix, more) => {
    const fields = { code: 'A', type: 'percent-10', name: 'A code', expiry_at: '2099-01-01T00:00:00.000Z' }
    const as = { tenant: 'acme', scope: 'codes:write' }
    const headers = { 'Idempotency-Key': 'k' }
    const { service, id } = await blockedWithItem((service) =>
      service.call({ method: 'POST', path: '/codes', as, headers, body: fields }),
    )
    const answer = await service.call({ method, path: `/codes/${id}${suffix}`, as: asAdmin, ...more })
    expect(outcome(answer)).toBe('403 POLICY.account.locked')
    expect(await service.items('acme', 'code')).toMatchObject([{ id, version: 1 }])
  })

  test('gets no paid order from an event that names the order alone', async () => {
    const { service, id } = await blockedWithOrder()
    const at = new Date(start + 30_000)
    const event = eventOf('order.paid', { id }, { occurred_at: at.toISOString() })
    await sendEvent(service, event, signed(JSON.stringify(event), { at }))
    await expect(handleReceived(service, event.event_id)).rejects.toThrow('the tenant is blocked')
    expect(await service.items('acme', 'order')).toMatchObject([{ status: 'active' }])
  })

  test('gets no cart from an event that names it before it is unblocked', async () => {
    const { service, operator, clock } = await serviceWithClock()
    const data = { id: 'c', tenant_id: 'acme', amount_minor: 100, currency: 'EUR' }
    const at = new Date(start)
    const event = eventOf('cart.updated', data, { occurred_at: at.toISOString() })
    await sendEvent(service, event, signed(JSON.stringify(event), { at }))
    await block(operator, 'acme')
    await expect(handleReceived(service, event.event_id)).rejects.toThrow('the tenant is blocked')
    expect(await service.items('acme', 'cart')).toEqual([])
    await unblockTenant(operator, 'acme')
    clock.advance(30_000)
    expect(await handleReceived(service, event.event_id)).toBe('handled')
  })

  test('costs one read in 30 seconds, whatever the number of requests', async () => {
    let reads = 0
    const { service, clock } = await serviceWithClock({
      tableName: newMemoryTable(),
      transit: async ({ name, input, effect }) => {
        if (name === 'get' && JSON.stringify(input).includes('blocked-tenants')) reads += 1
        return effect()
      },
    })
    for (let n = 0; n < 20; n += 1) {
      await placeOrder(service, 'acme')
      clock.advance(2999)
    }
    expect(reads).toBe(2)
  })

  test('is listed once, whatever the number of operators who change the list at once', async () => {
    const { operator } = await serviceWithClock()
    const names = ['a', 'b', 'c', 'b', 'a']
    await Promise.all(names.map((name) => block(operator, name)))
    await Promise.all(['c', 'x'].map((name) => unblockTenant(operator, name)))
    expect((await readBlockedTenants(operator.table)).tenants).toEqual(['a', 'b'])
  })

  test('was named right: a name without data is refused, and not listed', async () => {
    const { operator } = await serviceWithClock()
    await expect(blockTenant(operator, 'mistyped')).rejects.toThrow(
      'no data of a tenant mistyped was found: check the name, or use --force',
    )
    expect((await readBlockedTenants(operator.table)).tenants).toEqual([])
  })

  test.each([
    ['was blocked', true],
    ['was not blocked', false],
  ])('changes by unblock if it %s: %s', async (_, isBlocked) => {
    const { operator } = await serviceWithClock()
    if (isBlocked) await block(operator, 'acme')
    // It may have no data any more.
    if (isBlocked) expect(await blockTenant(operator, 'acme')).toBe(false)
    expect(await unblockTenant(operator, 'acme')).toBe(isBlocked)
  })

  test('fits into the list with the longest name, unless as many others as the limit says are blocked', async () => {
    const { operator } = await serviceWithClock()
    const names = Array.from({ length: maxBlockedTenants - 1 }, (_, n) => `t${n}`.padEnd(64, 'x'))
    const before = await readBlockedTenants(operator.table)
    await operator.table.transact([blockedTenantsPut(names, before)])
    expect(await block(operator, 'z'.repeat(64))).toBe(true)
    await expect(block(operator, 'more')).rejects.toThrow(
      '6000 tenants are blocked, and no more fit: unblock some',
    )
  })
})

describe('a purge of a tenant in use', () => {
  /** All items of the table that name the tenant, except idempotency records, which expire. */
  async function left(service: Service, tenant: string): Promise<string[]> {
    const items = await itemsOf(service.tableName)
    const named = items.filter((item) => JSON.stringify(item).includes(tenant))
    return named.map(({ pk }) => pk).filter((pk) => !/^(idempotency#|blocked-tenants)/.test(pk))
  }

  test('leaves nothing of requests that are in progress while it blocks', async () => {
    const seconds = 1000
    let now = start
    let held: { until: number; go: () => void }[] = []
    /** A request takes 25 seconds to commit. The longest one may take 26. */
    const hold = () =>
      new Promise<void>((go) => {
        held.push({ until: now + 25 * seconds, go })
      })
    const clock: Clock = { ...systemClock, now: () => now, sleep: async () => {}, jitter: () => 0 }
    let arrived = () => {}
    const service = await startService({
      clock,
      remembers: true,
      tableName: newMemoryTable(),
      transit: async ({ name, effect }) => {
        if (name !== 'transact') return effect()
        const holding = hold()
        arrived()
        await holding
        return effect()
      },
    })
    const answers: { at: number; outcome: string }[] = []
    const running: Promise<unknown>[] = []
    /** Starts a request, and waits until it commits or is rejected. */
    const begin = async () => {
      const at = (now - start) / seconds
      const committing = new Promise<void>((resolve) => {
        arrived = resolve
      })
      const answer = placeOrder(service, 'racing').then((one) => answers.push({ at, outcome: outcome(one) }))
      running.push(answer)
      await Promise.race([answer, committing])
    }
    /** Lets time pass, with a new request each second. */
    const sleep = async (milliseconds: number) => {
      for (const end = now + milliseconds; now < end; now += seconds) {
        await begin()
        const due = held.filter(({ until }) => until <= now)
        held = held.filter((one) => !due.includes(one))
        for (const { go } of due) go()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    // The process reads the list just before the block.
    await sleep(1 * seconds)
    const operator: Operator = { table: service.table, clock: { ...clock, sleep }, name: 'jane' }
    await purgeTenant(operator, 'racing', { withAudit: true, force: true })
    await sleep(30 * seconds)
    await Promise.all(running)
    const created = answers.filter((one) => one.outcome === '201').map(({ at }) => at)
    expect(Math.max(...created)).toBe(29)
    expect(new Set(answers.filter(({ at }) => at >= 30).map((one) => one.outcome))).toEqual(
      new Set(['403 POLICY.account.locked']),
    )
    expect(await left(service, 'racing')).toEqual([])
  })

  test('deletes its accounts, so another tenant can connect them, and the positions of their comparison', async () => {
    const { operator } = await serviceWithClock({ tableName: newMemoryTable() })
    const { table } = operator
    await connectAccount(operator, 'acme', 'acct_1')
    await connectAccount(operator, 'acme', 'acct_2')
    await table.put({ item: { ...positionKey('acme', 'acct_1'), until: start }, condition: 'none' })
    await purgeTenant(operator, 'acme', { withAudit: false })
    expect(await table.get(positionKey('acme', 'acct_1'))).toBeUndefined()
    expect([await allAccounts(table), await accountsOf(table, 'acme')]).toEqual([[], []])
    await connectAccount(operator, 'other', 'acct_1')
  })

  /** Starts a purge that waits for its requests, and never goes on. */
  async function waitingPurge() {
    const { operator, clock } = await serviceWithClock({ tableName: newMemoryTable() })
    let waits = () => {}
    const waiting = new Promise<void>((resolve) => {
      waits = resolve
    })
    let goOn = () => {}
    const sleep = () => {
      waits()
      return new Promise<void>((resolve) => {
        goOn = resolve
      })
    }
    const purging = purgeTenant({ ...operator, clock: { ...clock, sleep } }, 'acme', {
      withAudit: true,
      force: true,
    })
    await waiting
    return { operator, clock, purging, goOn: () => goOn() }
  }

  test('keeps the tenant from being unblocked until it ends', async () => {
    const { operator, purging, goOn } = await waitingPurge()
    await expect(unblockTenant(operator, 'acme')).rejects.toThrow('a purge of acme is running')
    expect((await readBlockedTenants(operator.table)).tenants).toEqual(['acme'])
    goOn()
    await purging
    expect(await unblockTenant(operator, 'acme')).toBe(true)
  })

  test('that was interrupted can be undone minutes later, and then deletes nothing', async () => {
    const { operator, clock, purging, goOn } = await waitingPurge()
    clock.advance(419_000)
    await expect(unblockTenant(operator, 'acme')).rejects.toThrow('unblock the tenant in 1 minutes')
    clock.advance(1_000)
    expect(await unblockTenant(operator, 'acme')).toBe(true)
    goOn()
    await expect(purging).rejects.toThrow('the tenant was unblocked')
    expect(await operator.table.get({ pk: 'purge#acme', sk: 'purge' })).toBeUndefined()
  })

  test('that failed leaves the tenant to be unblocked at once', async () => {
    const { operator } = await serviceWithClock({ tableName: newMemoryTable() })
    const clock: Clock = { ...operator.clock, sleep: () => Promise.reject(new Error('stopped')) }
    const purging = purgeTenant({ ...operator, clock }, 'acme', { withAudit: true, force: true })
    await expect(purging).rejects.toThrow('stopped')
    expect(await unblockTenant(operator, 'acme')).toBe(true)
  })

  async function runningImport() {
    const clock = movableClock(start)
    // A purge waits for five minutes, and reads all shards each time it looks.
    const service = await startImports({ clock, tableName: newMemoryTable() })
    const { json } = await service.upload('acme', 'email,name,country\na@b.example,A,GB\n')
    const ref = { tenant: 'acme', operation_id: json.operation_id }
    const operation = await service.operation('acme', json.operation_id)
    return { service, clock, ref, operation }
  }

  test('cancels an import that has not started', async () => {
    const { service, clock, ref } = await runningImport()
    await purgeTenant({ table: service.table, clock, name: 'jane' }, 'acme', { withAudit: false })
    const run = await service.run('acme', ref.operation_id)
    expect([run.status, await left(service, 'customer#acme')]).toEqual(['succeeded', []])
  })

  test('cancels a running import, and waits for its end', async () => {
    const { service, clock, ref, operation } = await runningImport()
    await service.table.transact([moveOperation(operation, 'start', clock.now())])
    const states: unknown[] = []
    const sleep: Clock['sleep'] = async (milliseconds) => {
      clock.advance(milliseconds)
      const found = await findOperation(service.table, ref)
      states.push(found?.cancel_requested)
      if (found?.cancel_requested === 'yes') await service.run('acme', ref.operation_id)
    }
    const operator = { table: service.table, clock: { ...clock, sleep }, name: 'jane' }
    await purgeTenant(operator, 'acme', { withAudit: true })
    expect(states).toEqual(['no', 'yes'])
    expect(await left(service, '#acme#')).toEqual([])
  })

  test('stops if an import does not end, and leaves the tenant blocked', async () => {
    const { service, clock, operation } = await runningImport()
    await service.table.transact([moveOperation(operation, 'start', clock.now())])
    const purging = purgeTenant({ table: service.table, clock, name: 'jane' }, 'acme', { withAudit: false })
    await expect(purging).rejects.toThrow(
      '1 imports and 0 refunds of acme do not end. acme stays blocked: repeat the purge, or let its callers in again with `tenants unblock acme`',
    )
    expect((await readBlockedTenants(service.table)).tenants).toEqual(['acme'])
    expect(await service.table.get(keyOf('acme', 'operation', operation.id))).toBeDefined()
  })
})
