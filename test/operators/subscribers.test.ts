import { beforeAll, describe, expect, test } from '@jest/globals'
import { reEncrypt } from '#bin/commands/subscribers/re-encrypt.ts'
import {
  createSubscriberOf,
  deleteSubscriberOf,
  listSubscribers,
  pauseSubscriber,
  replaceSecret,
  resumeSubscriber,
  updateSubscriber,
} from '#bin/commands/subscribers/registry.ts'
import { readSubscriber } from '#bin/commands/subscribers/subscriber-operator.ts'
import { firstIdAt } from '#shared/platform/base/clock.ts'
import { itemsOf } from '#shared/platform/listing/merge.ts'
import { keyOf, pendingPartitionsOf } from '#shared/platform/table/keys.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import { readSubscribedTenants, subscriberCheck } from '#shared/subscribers/subscribed-tenants.ts'
import { changeSubscriber, findSubscriber, moveSubscriber } from '#shared/subscribers/subscriber.ts'
import { naming } from '#test/support/naming.ts'
import { subscriberOperator, type TestOperator } from './subscriber-operators.ts'

const url = 'https://hooks.example.com/events?token=sesame'
const events = ['order.placed', 'refund.*']

let operator: TestOperator
let tenants = 0
let tenant: string
beforeAll(async () => {
  operator = await subscriberOperator()
})

/** Starts a test in a tenant without subscribers. */
function newTenant(): void {
  tenants += 1
  tenant = `tenant-${tenants}`
}
const create = (fields: { url?: string; events?: string[] } = {}) =>
  createSubscriberOf(operator, { tenant, url, events, ...fields })
const refOf = ({ id }: { id: string }) => ({ tenant, subscriber: id })
async function created() {
  newTenant()
  const subscriber = await create()
  return { ...subscriber, ref: refOf(subscriber) }
}

describe('subscribers create', () => {
  test('prints the subscriber and its secret', async () => {
    expect(await created()).toMatchObject({
      id: expect.any(String),
      url,
      events,
      state: 'active',
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
  })

  test('stores a secret that signs the events of the subscriber', async () => {
    const { secret, ref } = await created()
    expect(await operator.signingSecrets(ref)).toEqual([secret])
  })

  test('stores no secret that can be read', async () => {
    const { secret } = await created()
    const stored = []
    for (const entity of ['subscriber', 'audit'] as const)
      for await (const item of itemsOf(operator.table, tenant, entity)) stored.push(item)
    expect(JSON.stringify(stored)).not.toContain(secret.slice('whsec_'.length))
  })

  test('is audited with the host and the events, without the rest of the URL', async () => {
    const { id } = await created()
    const records = []
    for await (const record of itemsOf(operator.table, tenant, 'audit')) records.push(record)
    expect(records).toMatchObject([
      {
        action: 'subscriber.create',
        target: `subscriber/${id}`,
        actor_id: 'jane',
        after: { host: 'hooks.example.com', events },
      },
    ])
    expect(JSON.stringify(records)).not.toContain('sesame')
  })

  test('lets the sweeps find the subscriber', async () => {
    const { id } = await created()
    const entries = await pendingEntries(operator.table, 'registered-subscriber')
    expect(entries.filter(({ sk }) => sk === id)).toMatchObject([{ tenant }])
  })

  test('returns when every relay knows of the subscriber', async () => {
    newTenant()
    const read = subscriberCheck(operator.clock)
    const { version } = await readSubscribedTenants(operator.table)
    const condition = version === undefined ? { absent: true as const } : { matches: { version } }
    const pk = 'subscribed-tenants'
    await operator.table.put({ item: { pk, sk: pk, tenants: [], version: (version ?? 0) + 1 }, condition })
    expect((await read(operator.table))(tenant)).toBe(false)
    await create()
    expect((await read(operator.table))(tenant)).toBe(true)
  })

  test('refuses one subscriber more than subscribers.maxPerTenant', async () => {
    await created()
    await create({ events: ['*'] })
    await expect(create({ events: ['order.created'] })).rejects.toThrow(
      `${tenant} has 2 subscribers, the maximum of subscribers.maxPerTenant`,
    )
  })

  test('refuses one of two at the same moment for which one is left', async () => {
    await created()
    const settled = await Promise.allSettled([
      create({ events: ['*'] }),
      create({ events: ['order.created'] }),
    ])
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('refuses a second subscriber with the same URL and events, in any order', async () => {
    const { id } = await created()
    await expect(create({ events: [...events].reverse() })).rejects.toThrow(
      `the subscriber ${id} has this URL and these events already`,
    )
  })

  test('refuses a URL that no subscriber may have', async () => {
    newTenant()
    await expect(create({ url: 'https://10.0.0.1/' })).rejects.toThrow(
      'url: it takes a public https URL without credentials',
    )
  })

  test('refuses a URL of more than 2,048 characters', async () => {
    newTenant()
    const long = `https://hooks.example.com/${'a'.repeat(2048)}`
    await expect(create({ url: long })).rejects.toThrow('url: Invalid length')
  })

  test('accepts a public address without a name', async () => {
    newTenant()
    expect(await create({ url: 'https://93.184.215.14/' })).toMatchObject({ url: 'https://93.184.215.14/' })
  })

  test('refuses a name with an address that is not public', async () => {
    newTenant()
    await expect(create({ url: 'https://mixed.example.com/' })).rejects.toThrow(
      'url: the name mixed.example.com has an address that is not public',
    )
  })

  test('refuses a name without an address', async () => {
    newTenant()
    await expect(create({ url: 'https://unknown.example.com/' })).rejects.toThrow(
      'url: the name unknown.example.com has no address',
    )
  })

  test.each([['order.plcaed'], ['refunds.*'], ['ping']])(
    'refuses %s, which no event matches, and names the events',
    async (type) => {
      newTenant()
      await expect(create({ events: ['order.placed', type] })).rejects.toThrow(
        `no event matches ${type}. The events are: order.created, order.placed, refund.succeeded`,
      )
    },
  )

  test('stores nothing that it refuses', async () => {
    newTenant()
    await expect(create({ url: 'http://hooks.example.com/' })).rejects.toThrow()
    expect(await listSubscribers(operator.table, tenant)).toEqual([])
  })
})

describe('subscribers list', () => {
  test('shows the subscribers of the tenant, oldest first, without their secrets', async () => {
    const { id } = await created()
    const { id: second } = await create({ events: ['*'] })
    const listed = await listSubscribers(operator.table, tenant)
    expect(listed.map((one) => one.id)).toEqual([id, second])
    expect(JSON.stringify(listed)).not.toMatch(/"secret|sealed/)
  })

  test('shows no subscriber of another tenant', async () => {
    await created()
    newTenant()
    expect(await listSubscribers(operator.table, tenant)).toEqual([])
  })

  test('shows why the service disabled a subscriber', async () => {
    const { ref } = await created()
    const subscriber = await readSubscriber(operator, ref)
    const disabled = moveSubscriber(subscriber, 'disable', { now: operator.clock.now(), reason: 'gone' })
    await operator.table.transact([disabled].flat())
    expect(await listSubscribers(operator.table, tenant)).toMatchObject([
      { state: 'disabled', reason: 'gone' },
    ])
  })
})

describe('subscribers update', () => {
  test('changes the events alone', async () => {
    const { ref } = await created()
    expect(await updateSubscriber(operator, ref, { events: ['*'] })).toMatchObject({ url, events: ['*'] })
  })

  test('changes the URL alone', async () => {
    const { ref } = await created()
    const changed = 'https://hooks.example.com/new'
    expect(await updateSubscriber(operator, ref, { url: changed })).toMatchObject({ url: changed, events })
  })

  test('keeps the secret', async () => {
    const { ref, secret } = await created()
    await updateSubscriber(operator, ref, { events: ['*'] })
    expect(await operator.signingSecrets(ref)).toEqual([secret])
  })

  test('refuses what create refuses', async () => {
    const { ref } = await created()
    await expect(updateSubscriber(operator, ref, { url: 'https://10.0.0.1/' })).rejects.toThrow(
      'url: it takes a public https URL without credentials',
    )
  })
})

describe('subscribers pause and resume', () => {
  test('pause stops an active subscriber', async () => {
    const { ref } = await created()
    expect(await pauseSubscriber(operator, ref)).toMatchObject({ state: 'paused' })
  })

  test('pause refuses a subscriber that is paused', async () => {
    const { ref, id } = await created()
    await pauseSubscriber(operator, ref)
    await expect(pauseSubscriber(operator, ref)).rejects.toThrow(`the subscriber ${id} is paused`)
  })

  test('resume starts a paused subscriber', async () => {
    const { ref } = await created()
    await pauseSubscriber(operator, ref)
    expect(await resumeSubscriber(operator, ref, { skip: false })).toMatchObject({ state: 'active' })
  })

  test('resume starts a subscriber that the service disabled, and shows no reason any more', async () => {
    const { ref } = await created()
    const subscriber = await readSubscriber(operator, ref)
    const disabled = moveSubscriber(subscriber, 'disable', { now: operator.clock.now(), reason: 'failing' })
    await operator.table.transact([disabled].flat())
    const resumed = await resumeSubscriber(operator, ref, { skip: false })
    expect(resumed).toMatchObject({ state: 'active' })
    expect(resumed).not.toHaveProperty('reason')
  })

  test('resume refuses an active subscriber', async () => {
    const { ref, id } = await created()
    await expect(resumeSubscriber(operator, ref, { skip: false })).rejects.toThrow(
      `the subscriber ${id} is active`,
    )
  })
})

describe('subscribers rotate-secret', () => {
  test('prints a new secret, which signs before the old one', async () => {
    const { ref, secret } = await created()
    const rotated = await replaceSecret(operator, ref, undefined)
    expect(await operator.signingSecrets(ref)).toEqual([rotated.secret, secret])
  })

  test('ends the old secret after subscribers.secretOverlapSeconds', async () => {
    const { ref } = await created()
    const { secret } = await replaceSecret(operator, ref, undefined)
    operator.clock.advance(60_000)
    expect(await operator.signingSecrets(ref)).toEqual([secret])
  })

  test('with an overlap of 0, ends the old secrets at once', async () => {
    const { ref } = await created()
    await replaceSecret(operator, ref, 3600)
    const { secret } = await replaceSecret(operator, ref, 0)
    expect(await operator.signingSecrets(ref)).toEqual([secret])
  })

  test('does not prolong a secret that ends already', async () => {
    const { ref } = await created()
    await replaceSecret(operator, ref, 10)
    const { secret: second } = await replaceSecret(operator, ref, 3600)
    operator.clock.advance(10_000)
    expect((await operator.signingSecrets(ref)).at(0)).toBe(second)
    expect(await operator.signingSecrets(ref)).toHaveLength(2)
  })

  test('refuses a ninth secret that signs', async () => {
    const { ref } = await created()
    for (let n = 0; n < 7; n += 1) await replaceSecret(operator, ref, 3600)
    await expect(replaceSecret(operator, ref, 3600)).rejects.toThrow(/\b8\b/)
  })

  test('is audited with the end of the old secrets, without a secret', async () => {
    const { ref } = await created()
    const { secret } = await replaceSecret(operator, ref, 0)
    const records = []
    for await (const record of itemsOf(operator.table, tenant, 'audit')) records.push(record)
    const at = new Date(operator.clock.now()).toISOString()
    expect(records.at(-1)).toMatchObject({
      action: 'subscriber.rotate_secret',
      after: { old_secrets_valid_until: at },
    })
    expect(JSON.stringify(records)).not.toContain(secret.slice('whsec_'.length))
  })
})

describe('subscribers delete', () => {
  test('removes the subscriber', async () => {
    const { ref } = await created()
    await deleteSubscriberOf(operator, ref)
    expect(await findSubscriber(operator.table, ref)).toBeUndefined()
  })

  test('removes the entry by which the sweeps find it', async () => {
    const { ref, id } = await created()
    await deleteSubscriberOf(operator, ref)
    const entries = await pendingEntries(operator.table, 'registered-subscriber')
    expect(entries.filter(({ sk }) => sk === id)).toEqual([])
  })
})

test('each change of a subscriber is audited', async () => {
  const { ref, id } = await created()
  await updateSubscriber(operator, ref, { events: ['*'] })
  await pauseSubscriber(operator, ref)
  await resumeSubscriber(operator, ref, { skip: false })
  await deleteSubscriberOf(operator, ref)
  const changes = ['create', 'update', 'pause', 'resume', 'delete']
  expect(await operator.audited(tenant)).toEqual(
    changes.map((change) => `subscriber.${change} subscriber/${id}`),
  )
})

describe('a subscriber that does not exist', () => {
  const missing = () => ({ tenant, subscriber: 'no-such' })
  test.each([
    ['update', () => updateSubscriber(operator, missing(), { events: ['*'] })],
    ['pause', () => pauseSubscriber(operator, missing())],
    ['resume', () => resumeSubscriber(operator, missing(), { skip: true })],
    ['rotate-secret', () => replaceSecret(operator, missing(), undefined)],
    ['delete', () => deleteSubscriberOf(operator, missing())],
  ])('is refused by %s', async (_, run) => {
    newTenant()
    await expect(run()).rejects.toThrow(naming(`${tenant} … no-such`))
  })

  test('is one of another tenant, too', async () => {
    const { id } = await created()
    newTenant()
    await expect(pauseSubscriber(operator, { tenant, subscriber: id })).rejects.toThrow(
      `${tenant} has no subscriber ${id}`,
    )
  })
})

describe('two commands at the same time', () => {
  /** Runs a command after another one has read the subscriber, and before it writes. */
  function between(run: () => Promise<unknown>): TestOperator {
    const { table } = operator
    let isFirst = true
    return {
      ...operator,
      table: {
        ...table,
        transact: async (changes) => {
          if (isFirst) {
            isFirst = false
            await run()
          }
          return table.transact(changes)
        },
      },
    }
  }

  test('two rotations leave both new secrets, and the old one', async () => {
    const { ref, secret: old } = await created()
    let inner = ''
    const outer = await replaceSecret(
      between(async () => {
        inner = (await replaceSecret(operator, ref, undefined)).secret
      }),
      ref,
      undefined,
    )
    expect(await operator.signingSecrets(ref)).toEqual([outer.secret, inner, old])
  })

  test('a pause that meets a deletion is refused and brings nothing back', async () => {
    const { ref, id } = await created()
    const pausing = pauseSubscriber(
      between(() => deleteSubscriberOf(operator, ref)),
      ref,
    )
    await expect(pausing).rejects.toThrow(naming(`${tenant} … ${id}`))
    expect(await findSubscriber(operator.table, ref)).toBeUndefined()
  })

  test('a deletion that meets a pause deletes', async () => {
    const { ref } = await created()
    await deleteSubscriberOf(
      between(() => pauseSubscriber(operator, ref)),
      ref,
    )
    expect(await findSubscriber(operator.table, ref)).toBeUndefined()
  })

  test('a change of the events that meets a rotation keeps the new secret', async () => {
    const { ref } = await created()
    let secret = ''
    await updateSubscriber(
      between(async () => {
        secret = (await replaceSecret(operator, ref, 0)).secret
      }),
      ref,
      { events: ['*'] },
    )
    expect(await operator.signingSecrets(ref)).toEqual([secret])
  })

  test('a resumption that meets another one is refused', async () => {
    const { ref, id } = await created()
    await pauseSubscriber(operator, ref)
    const resuming = resumeSubscriber(
      between(() => resumeSubscriber(operator, ref, { skip: false })),
      ref,
      { skip: false },
    )
    await expect(resuming).rejects.toThrow(`the subscriber ${id} is active`)
  })
})

describe('subscribers re-encrypt', () => {
  /** Starts a deployment with two subscribers, and rotates its secret. */
  async function rotated() {
    const own = await subscriberOperator()
    const one = await createSubscriberOf(own, { tenant: 'one', url, events })
    const two = await createSubscriberOf(own, { tenant: 'two', url, events })
    await replaceSecret(own, { tenant: 'two', subscriber: two.id }, 50)
    own.versions.existing.push('version-2')
    own.versions.current = 'version-2'
    const refs = [
      { tenant: 'one', subscriber: one.id },
      { tenant: 'two', subscriber: two.id },
    ] as const
    return { own, one, two, refs }
  }

  test('counts the subscribers of all tenants', async () => {
    const { own } = await rotated()
    expect(await reEncrypt(own)).toEqual({ subscribers: 2, re_encrypted: 2, unreadable: [] })
  })

  test('keeps all secrets, so that the old version can be deleted', async () => {
    const { own, refs, one, two } = await rotated()
    await reEncrypt(own)
    own.versions.existing.shift()
    expect(await own.signingSecrets(refs[0])).toEqual([one.secret])
    expect((await own.signingSecrets(refs[1])).at(-1)).toBe(two.secret)
  })

  test('keeps the end of an old secret', async () => {
    const { own, refs } = await rotated()
    await reEncrypt(own)
    own.clock.advance(50_000)
    expect(await own.signingSecrets(refs[1])).toHaveLength(1)
  })

  test('changes nothing the second time', async () => {
    const { own } = await rotated()
    await reEncrypt(own)
    expect(await reEncrypt(own)).toMatchObject({ re_encrypted: 0 })
  })

  test('continues after an interruption', async () => {
    const { own, refs } = await rotated()
    const { table } = own
    let changes = 0
    const interrupted = {
      ...own,
      table: {
        ...table,
        transact: (all: Parameters<typeof table.transact>[0]) => {
          changes += 1
          if (changes === 2) throw new Error('interrupted')
          return table.transact(all)
        },
      },
    }
    await expect(reEncrypt(interrupted)).rejects.toThrow('interrupted')
    expect(await reEncrypt(own)).toMatchObject({ subscribers: 2, re_encrypted: 1 })
    own.versions.existing.shift()
    expect(await own.signingSecrets(refs[0])).toHaveLength(1)
    expect(await own.signingSecrets(refs[1])).toHaveLength(2)
  })

  test('skips none if the last one of a page is deleted before the next page', async () => {
    const own = await subscriberOperator()
    const { table } = own
    const [pk = ''] = pendingPartitionsOf('registered-subscriber')
    for (const at of [1, 2, 3])
      await table.put({ item: { pk, sk: firstIdAt(at), tenant: 'one' }, condition: 'none' })
    const pages: typeof table = {
      ...table,
      async readRange(range) {
        const read = await table.readRange({ ...range, limit: 2 })
        // The other partitions may be read before this one.
        if (range.partition === pk)
          await table.transact([{ remove: { pk, sk: firstIdAt(2) }, condition: 'none' }])
        return read
      },
    }
    expect(await reEncrypt({ ...own, table: pages })).toMatchObject({ subscribers: 3 })
  })

  test('names the subscribers whose secrets cannot be read, and re-encrypts the others', async () => {
    const { own, refs } = await rotated()
    own.versions.existing.shift()
    const [first] = refs
    await replaceSecret(own, first, 0)
    expect(await reEncrypt(own)).toEqual({ subscribers: 2, re_encrypted: 0, unreadable: [refs[1]] })
  })

  test('names a subscriber whose secret was sealed for another one', async () => {
    const { own, refs } = await rotated()
    const [one, two] = [await readSubscriber(own, refs[0]), await readSubscriber(own, refs[1])]
    await own.table.transact([changeSubscriber(one, { secrets: two.secrets }, own.clock.now())])
    expect(await reEncrypt(own)).toMatchObject({ re_encrypted: 1, unreadable: [refs[0]] })
  })

  test('fails during an outage', async () => {
    const { own } = await rotated()
    own.versions.existing.shift()
    own.versions.fault = 'TimeoutError'
    await expect(reEncrypt(own)).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
  })

  test('keeps the secret of a rotation at the same time', async () => {
    const { own, refs } = await rotated()
    const [first] = refs
    const { prepare } = own
    let secret = ''
    await reEncrypt({
      ...own,
      prepare: async (preparation) => {
        const prepared = await prepare(preparation)
        if (secret === '' && preparation.reseal?.[0]?.owner.id === first.subscriber)
          secret = (await replaceSecret(own, first, 0)).secret
        return prepared
      },
    })
    expect(await own.signingSecrets(first)).toEqual([secret])
  })

  test('leaves a subscriber alone that is deleted meanwhile', async () => {
    const { own, refs } = await rotated()
    const { prepare } = own
    await reEncrypt({
      ...own,
      prepare: async (preparation) => {
        const [first] = refs
        const prepared = await prepare(preparation)
        if (preparation.reseal?.[0]?.owner.id === first.subscriber) await deleteSubscriberOf(own, first)
        return prepared
      },
    })
    expect(await own.table.get(keyOf('one', 'subscriber', refs[0].subscriber))).toBeUndefined()
  })

  test('is audited in the tenant of each subscriber', async () => {
    const { own, refs } = await rotated()
    await reEncrypt(own)
    expect(await own.audited('one')).toContain(`subscriber.re_encrypt subscriber/${refs[0].subscriber}`)
  })
})
