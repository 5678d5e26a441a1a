import { beforeEach, describe, expect, test } from '@jest/globals'
import { pruneReleases, releasedFunctions, releasesOf } from '#bin/commands/deployment/releases.ts'
import { planRollback, rollBack } from '#bin/commands/deployment/rollback.ts'
import { restoreProvisioned } from '#bin/commands/freeze/provisioned-concurrency.ts'
import { naming } from '#test/support/naming.ts'
import { type FakeFunctions, fakeFunctions, recordOf } from './fake-functions.ts'

const stack = 'commerce-prod'
/** An endpoint, a consumer and a workflow step. */
const names = ['orders', 'relay', 'rows']
const all = (release: string) => Object.fromEntries(names.map((name) => [name, release]))

let aws: FakeFunctions
beforeEach(() => {
  aws = fakeFunctions(names)
})

const plan = (to?: string) => planRollback(stack, to, aws.clients)
async function run(to?: string) {
  const rollback = await plan(to)
  await rollBack(rollback, aws.clients)
  return rollback
}
const releases = async () => releasesOf(await releasedFunctions(stack, aws.clients))

describe('a rollback', () => {
  test('moves every function to the release before, in nested stacks too', async () => {
    for (const release of ['v1', 'v2', 'v3']) aws.deploy(release)
    expect(await run()).toMatchObject({ from: 'v3', to: 'v2', rolledBack: ['v3'] })
    expect(aws.serving()).toEqual(all('v2'))
  })

  test('goes to the release that served before, not to one that was rolled back', async () => {
    aws.deploy('v1')
    aws.deploy('v2')
    await run()
    aws.deploy('v3')
    expect(await run()).toMatchObject({ from: 'v3', to: 'v1', rolledBack: ['v3', 'v2'] })
    expect(aws.serving()).toEqual(all('v1'))
  })

  test('remembers a release that was rolled back by the name of another', async () => {
    for (const release of ['v1', 'v2', 'v3']) aws.deploy(release)
    await run('v1')
    aws.deploy('v4')
    expect(await plan()).toMatchObject({ to: 'v1' })
  })

  test('can return to a release that was rolled back, which then serves as any other', async () => {
    aws.deploy('v1')
    aws.deploy('v2')
    await run()
    expect(await run('v2')).toMatchObject({ from: 'v1', to: 'v2', rolledBack: [] })
    expect(aws.serving()).toEqual(all('v2'))
    aws.deploy('v3')
    expect(await plan()).toMatchObject({ to: 'v2' })
  })

  test('plans without moving anything', async () => {
    aws.deploy('v1')
    aws.deploy('v2')
    await plan()
    expect(aws.serving()).toEqual(all('v2'))
    expect((await releases()).map(({ rolled_back }) => rolled_back)).toEqual([false, false])
  })

  test('sends no request to any other version', async () => {
    aws.deploy('v1')
    aws.deploy('v2')
    const weights = { AdditionalVersionWeights: { 2: 0.1 } }
    aws.functions.get('orders')?.aliases.set('live', { FunctionVersion: '1', RoutingConfig: weights })
    await run()
    expect(aws.functions.get('orders')?.aliases.get('live')).toEqual({
      FunctionVersion: '1',
      RoutingConfig: { AdditionalVersionWeights: {} },
    })
  })

  test('leaves a function that the release does not have', async () => {
    aws.deploy('v1', { without: ['rows'] })
    aws.deploy('v2')
    expect((await run()).staying).toEqual(['rows'])
    expect(aws.serving()).toEqual({ orders: 'v1', relay: 'v1', rows: 'v2' })
  })

  test.each([0, 1, 2, 3, 4, 5, 6])(
    'that stopped after %d changes is continued by the next one',
    async (changes) => {
      aws.deploy('v0')
      aws.deploy('v1')
      aws.deploy('v2')
      aws.failAfter(changes)
      await run().catch(() => {})
      aws.failAfter(Number.POSITIVE_INFINITY)
      await run().catch(() => {})
      expect(aws.serving()).toEqual(all('v1'))
    },
  )
})

describe('a rollback after items were stored in more shards', () => {
  test('is refused to a release that reads fewer', async () => {
    aws.deploy('v1', { shards: recordOf([1, 1]) })
    aws.deploy('v2', { shards: recordOf([1, 4]) })
    aws.deploy('v3', { shards: recordOf([4, 4]) })
    aws.deploy('v4', { shards: recordOf([1, 4]) })
    await expect(plan('v1')).rejects.toThrow(naming('v1 … 1 … 4 … large … 1 … 4'))
    expect(await plan('v2')).toMatchObject({ to: 'v2' })
  })

  test('is refused to a release without a record, which reads one', async () => {
    aws.deploy('v1')
    aws.deploy('v2', { shards: recordOf([1, 1], [2, 2]) })
    await expect(plan()).rejects.toThrow(naming('v1 … 1 … 2 … large'))
  })

  test('is made to a release that reads fewer than the one that serves, while nothing is stored there', async () => {
    aws.deploy('v1', { shards: recordOf([1, 1]) })
    aws.deploy('v2', { shards: recordOf([1, 4]) })
    await run()
    expect(aws.serving()).toEqual(all('v1'))
  })
})

describe('a rollback of a function with provisioned concurrency', () => {
  const orders = () => aws.functions.get('orders') ?? { aliases: new Map(), tags: {} }
  beforeEach(() => {
    aws.deploy('v1')
    aws.deploy('v2')
    Object.assign(orders(), { provisioned: 5 })
  })

  test('sends all requests to the older version at once', async () => {
    await run()
    expect(orders().aliases.get('live')).toEqual({
      FunctionVersion: '1',
      RoutingConfig: { AdditionalVersionWeights: {} },
    })
  })

  test('restores it for the older version, and leaves no note', async () => {
    await run()
    expect(orders()).toMatchObject({ provisioned: 5, tags: {} })
  })

  test('provisions no other function', async () => {
    await run()
    expect(aws.functions.get('relay')).not.toHaveProperty('provisioned')
  })

  test('ends a shift of requests first, which Lambda would not let it change', async () => {
    const RoutingConfig = { AdditionalVersionWeights: { 1: 0.1 } }
    orders().aliases.set('live', { FunctionVersion: '2', RoutingConfig })
    await run('v1')
    expect(orders()).toMatchObject({ provisioned: 5, tags: {} })
  })

  test('that a freeze has stopped leaves it to unfreeze', async () => {
    Object.assign(orders(), { provisioned: undefined, reserved: 0, tags: { 'commerce:provisioned': '5' } })
    await run()
    expect(orders()).toMatchObject({ provisioned: undefined, tags: { 'commerce:provisioned': '5' } })
  })

  test('serves from all functions before any of it is restored', async () => {
    expect.hasAssertions()
    for (let changes = 0; changes < 12; changes += 1) {
      aws.failAfter(changes)
      const failure = await run('v1').then(String, String)
      aws.failAfter(Number.POSITIVE_INFINITY)
      if (failure.includes('v1 serves again')) expect(aws.serving()).toEqual(all('v1'))
      await run('v2').catch(() => {})
      await restoreProvisioned('orders', aws.clients.lambda)
    }
  })

  test('that was interrupted at any change and repeated leaves nothing for unfreeze to lose', async () => {
    for (let changes = 0; changes < 12; changes += 1) {
      aws.failAfter(changes)
      await run('v1').catch(() => {})
      aws.failAfter(Number.POSITIVE_INFINITY)
      await run('v1').catch(() => {})
      await restoreProvisioned('orders', aws.clients.lambda)
      expect(orders()).toMatchObject({ provisioned: 5, tags: {} })
      await run('v2').catch(() => {})
    }
  })
})

describe('a rollback is refused', () => {
  test.each<[string, (string | undefined)[], string | undefined, string]>([
    ['no older release is kept', ['v1'], undefined, 'v1'],
    ['the named release serves already', ['v1'], 'v1', 'v1'],
    ['no function has a release', [undefined], undefined, 'commerce-prod'],
    ['the named release is unknown', ['v1', 'v2'], 'v7', 'v7 … v2, v1'],
  ])('if %s', async (_, deployed, to, reason) => {
    for (const release of deployed) aws.deploy(release)
    await expect(plan(to)).rejects.toThrow(naming(reason))
  })

  test('if it was made already, with the releases to which it can go', async () => {
    for (const release of ['v1', 'v2', 'v3']) aws.deploy(release)
    await run()
    await expect(plan()).rejects.toThrow(naming('v2 … v3 … --to … v1'))
  })

  test('if the release uses another table', async () => {
    aws.deploy('v1')
    aws.deploy('v2', { table: 'restored-table' })
    await expect(plan()).rejects.toThrow(naming('v1 … orders-table … restored-table'))
  })

  test('during a deployment', async () => {
    for (const release of ['v1', 'v2']) aws.deploy(release)
    aws.status = 'UPDATE_IN_PROGRESS'
    await expect(plan()).rejects.toThrow('UPDATE_IN_PROGRESS')
  })
})

describe('the releases', () => {
  test('are listed with what serves and what was rolled back', async () => {
    aws.deploy('v1', { without: ['rows'] })
    aws.deploy('v2')
    await run()
    expect(await releases()).toEqual([
      { release: 'v2', published_at: '2026-01-01T02:00:00.000Z', functions: 3, live: 1, rolled_back: true },
      { release: 'v1', published_at: '2026-01-01T01:00:00.000Z', functions: 2, live: 2, rolled_back: false },
    ])
  })

  test('older than those to keep are deleted, except for versions that an alias invokes', async () => {
    aws.deploy(undefined)
    aws.deploy('v1')
    aws.deploy('v2')
    aws.deploy('v3')
    await run('v2')
    aws.deploy('v4')
    aws.deploy('v5')
    aws.functions.get('relay')?.aliases.set('by-hand', { FunctionVersion: '1' })
    aws.functions.get('rows')?.aliases.set('live', { FunctionVersion: '2' })
    expect(await pruneReleases(stack, 2, aws.clients)).toBe(10)
    const kept = [...aws.functions].map(([name, { versions }]) => [name, [...versions.keys()]])
    expect(Object.fromEntries(kept)).toEqual({
      orders: ['5', '6'],
      relay: ['1', '5', '6'],
      rows: ['2', '5', '6'],
    })
  })

  test('of a release that stored items in more shards than all newer ones are kept, as the record of them', async () => {
    aws.deploy('v1', { shards: recordOf([1, 4]) })
    aws.deploy('v2', { shards: recordOf([4, 4]) })
    for (const release of ['v3', 'v4', 'v5']) aws.deploy(release, { shards: recordOf([1, 4]) })
    await pruneReleases(stack, 2, aws.clients)
    expect((await releases()).map(({ release }) => release)).toEqual(['v5', 'v4', 'v2'])
  })

  test('that are kept are all kept if there are fewer', async () => {
    aws.deploy('v1')
    aws.deploy('v2')
    expect(await pruneReleases(stack, 10, aws.clients)).toBe(0)
  })
})
