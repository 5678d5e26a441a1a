import { describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, startService } from '../support/service.ts'
import { longTimeoutSettings } from '../support/settings.ts'
import { admin, audit, codeCalls, editor, locks, made, stored, tally, validCode } from './code-calls.ts'
import { resending } from './retrying-service.ts'

const service = await startService({ settings: longTimeoutSettings })
const calls = codeCalls(resending(service))

type Action = (tenant: string, id: string) => Promise<Answer>
const actions: Record<string, Action> = {
  update: (tenant, id) => calls.update(editor(tenant), id, '*', { name: 'Stormy' }),
  'update as Admin': (tenant, id) => calls.update(admin('head'), id, '*', { name: `By ${tenant}` }),
  delete: (tenant, id) => calls.softDelete(editor(tenant), id),
  restore: (tenant, id) => calls.restore(editor(tenant), id),
}

/** Runs each action the given number of times, all concurrently. */
async function storm(tenant: string, id: string, wanted: Record<string, number>): Promise<Answer[]> {
  const all = Object.entries(wanted).flatMap(([name, times]) => Array<string>(times).fill(name))
  // Interleaved, so no kind is first.
  const mixed = all.map((name, at) => [name, (at * 7919) % all.length] as const).sort((a, b) => a[1] - b[1])
  return Promise.all(mixed.map(([name]) => actions[name]?.(tenant, id) as Promise<Answer>))
}

/** Expects a valid stored code whose changes are each counted and audited once. */
async function expectSound(tenant: string, id: string, changes: number) {
  const code = await stored(service, tenant, id)
  const deleted = code?.state === 'soft_deleted'
  expect(['active', 'soft_deleted']).toContain(code?.state)
  expect(code?.soft_deleted).toBe(deleted)
  expect(code?.state_before_delete).toBe(deleted ? 'active' : undefined)
  expect(code?.version).toBe(1 + changes)
  const allowed = (await audit(service, tenant)).filter(({ result }) => result === 'allow')
  expect(allowed).toHaveLength(changes)
  expect(await locks(service, tenant)).toEqual({ [String(code?.code)]: id })
}

const allowedOutcomes = [
  '200',
  '204',
  '409 CONFLICT.soft_deleted',
  '409 CONFLICT.not_deleted',
  '412 CONFLICT.etag.mismatch',
]

describe('concurrent requests for one outcome', () => {
  test('one of a hundred concurrent creates of a text succeeds', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        calls.create({ ...editor('rush'), sub: `u${n % 3}` }, validCode({ code: n % 2 ? 'RUSH' : 'rush' })),
      ),
    )
    expect(tally(answers)).toEqual({ '201': 1, '409 CONFLICT.code.exists': 99 })
    const [winner] = answers.filter(({ status }) => status === 201)
    expect(await service.items('rush', 'code')).toMatchObject([winner?.json])
    expect(await locks(service, 'rush')).toEqual({ RUSH: winner?.json.id })
  })

  test('one of fifty concurrent updates with the same tag succeeds', async () => {
    const { id, etag } = await made(calls, 'crowd')
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => calls.update(editor('crowd'), id, etag, { name: `name ${n}` })),
    )
    expect(tally(answers)).toEqual({ '200': 1, '412 CONFLICT.etag.mismatch': 49 })
    const [winner] = answers.filter(({ status }) => status === 200)
    expect(await stored(service, 'crowd', id)).toMatchObject({ name: winner?.json.name, version: 2 })
    expect(await audit(service, 'crowd')).toHaveLength(1)
  })
})

describe('concurrent changes of one code', () => {
  test.each([
    { delete: 30 },
    { delete: 20, restore: 20 },
    { update: 20, delete: 10 },
    { update: 15, 'update as Admin': 15, delete: 15, restore: 15 },
    { 'update as Admin': 20, restore: 10, delete: 10 },
  ] as Record<string, number>[])('%j leave a valid code, and each change is counted once', async (wanted) => {
    const tenant = `storm-${Object.values(wanted).join('-')}`
    const { id } = await made(calls, tenant)
    const answers = await storm(tenant, id, wanted)
    for (const answer of answers) expect(allowedOutcomes).toContain(outcome(answer))
    const allowed = (await audit(service, tenant)).filter(({ result }) => result === 'allow')
    const changed = answers.filter(({ status }) => status === 200).length
    const deletes = allowed.filter(({ action }) => action === 'soft_delete').length
    if (!wanted.restore) expect(deletes).toBe(1)
    await expectSound(tenant, id, changed + deletes)
    // In any case the code can be live again.
    await calls.softDelete(editor(tenant), id)
    expect((await calls.restore(editor(tenant), id)).json).toMatchObject({ state: 'active' })
  })

  test('one of twenty concurrent restores succeeds', async () => {
    const { id } = await made(calls, 'restores')
    await calls.softDelete(editor('restores'), id)
    const answers = await storm('restores', id, { restore: 20 })
    expect(tally(answers)).toEqual({ '200': 1, '409 CONFLICT.not_deleted': 19 })
    await expectSound('restores', id, 2)
  })
})

describe('a hard delete concurrent with other changes', () => {
  test('succeeds once of ten, and no later change restores the code', async () => {
    const tenant = 'gone'
    const { id, json } = await made(calls, tenant)
    const remove = () => calls.hardDelete(admin(tenant), id, 'requested')
    const removals = Promise.all(Array.from({ length: 10 }, remove))
    const answers = await storm(tenant, id, { update: 5, delete: 5, restore: 5 })
    for (const answer of answers) {
      expect([...allowedOutcomes, '404 NOT_FOUND.code']).toContain(outcome(answer))
    }
    const removed = await removals
    for (const answer of removed) expect(['204', '404 NOT_FOUND.code']).toContain(outcome(answer))
    expect(removed.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(await service.items(tenant, 'code')).toEqual([])
    expect(await locks(service, tenant)).toEqual({})
    expect((await calls.create(editor(tenant), validCode({ code: json.code }))).status).toBe(201)
  })

  test('and with creates of the same text leaves at most one code and one uniqueness lock', async () => {
    const tenant = 'turnover'
    const { id } = await made(calls, tenant, { code: 'TURN' })
    const [removed, ...created] = await Promise.all([
      calls.hardDelete(admin(tenant), id, 'requested'),
      ...Array.from({ length: 20 }, () => calls.create(editor(tenant), validCode({ code: 'turn' }))),
    ])
    expect(removed.status).toBe(204)
    const winners = created.filter(({ status }) => status === 201)
    expect(winners.length).toBeLessThanOrEqual(1)
    expect(created.length - winners.length).toBe(tally(created)['409 CONFLICT.code.exists'] ?? 0)
    const ids = winners.map(({ json }) => json.id)
    expect((await service.items(tenant, 'code')).map((item) => item.id)).toEqual(ids)
    expect(await locks(service, tenant)).toEqual(Object.fromEntries(ids.map((one) => ['TURN', one])))
  })
})
