import { expect } from '@jest/globals'
import fc from 'fast-check'
import { outcome } from '#test/support/outcome.ts'
import type { Answer } from '#test/support/service.ts'
import type { CodeCalls, Extra } from './code-calls.ts'
import type { Actor, Change, CodeModel, ModelCode, Side } from './code-model.ts'

/** The service of a run, and its names for the tenants of the model. */
export interface Real {
  calls: CodeCalls
  tenants: Record<Side, string>
}

type Command = fc.AsyncCommand<CodeModel, Real>

const side = fc.constantFrom<Side>('left', 'left', 'left', 'right')
const role = fc.constantFrom<Actor['role']>('Viewer', 'Editor', 'Editor', 'Editor', 'Admin', 'Admin')
const actor: fc.Arbitrary<Actor> = fc
  .tuple(role, side, fc.constantFrom<Side>('left', 'right'), seldom(3))
  .map(([is, tenant, names, named]) => ({ role: is, tenant, ...(named && { names }) }))
/** Picks mostly a code of the actor's tenant; sometimes one of any tenant, a deleted one, or none. */
const which = fc.record({ nth: fc.nat(11), anywhere: seldom(6) })
interface Which {
  nth: number
  anywhere: boolean
}
const text = fc.constantFrom('SALE', 'sale', ' Sale ', 'VIP-1', 'vip-1', '-', 'A-B-C')
const name = fc.constantFrom('Ten off', 'Zehn weniger', '🎉')
const expiry = fc.constantFrom('2098-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z')
const change: fc.Arbitrary<Change> = fc.record({
  ifMatch: fc.constantFrom('current', 'current', 'current', 'any', 'stale', 'missing'),
  to: fc.oneof(
    { weight: 4, arbitrary: fc.record({ name }) },
    { weight: 4, arbitrary: fc.record({ expiry_at: expiry }) },
    { weight: 1, arbitrary: fc.constantFrom({ code: 'OTHER' }, { past: true as const }) },
  ),
})

/** True once in `n` times on average. */
function seldom(times: number): fc.Arbitrary<boolean> {
  return fc.nat(times - 1).map((one) => one === 0)
}

const absent = '01900000-0000-8000-8000-000000000000'
function chosen(model: CodeModel, { tenant }: Actor, { nth, anywhere }: Which): ModelCode | undefined {
  const among = anywhere ? [...model.codes, undefined] : model.stored(tenant)
  return among[nth % among.length]
}
const idOf = (code: ModelCode | undefined) => code?.id ?? absent

function said({ role, tenant, names }: Actor, { tenants }: Real) {
  const who = { role, tenant: tenants[tenant], sub: `${role}-1`, scope: 'codes:read codes:write' }
  const extra: Extra = names ? { query: { tenant: tenants[names] } } : {}
  return [who, extra] as const
}

/** A code as returned to a caller. */
function expectView(view: Record<string, unknown>, code: ModelCode, { tenants }: Real): void {
  expect(view).toMatchObject({
    id: code.id,
    tenant_id: tenants[code.tenant],
    code: code.text,
    name: code.name,
    expiry_at: code.expiryAt,
    soft_deleted: code.deleted,
    state: code.deleted ? 'soft_deleted' : 'active',
  })
}

/** Calls an operation on one code and compares the outcome with that of the model. */
function expectOutcome(answer: Answer, expected: string, code: ModelCode | undefined, real: Real): void {
  expect(outcome(answer)).toBe(expected)
  if (expected === '200' && code) expectView(answer.json, code, real)
}

function command<Input>(
  title: string,
  input: fc.Arbitrary<Input>,
  run: (model: CodeModel, real: Real, given: Input) => Promise<void>,
): fc.Arbitrary<Command> {
  return input.map((given) => ({
    check: () => true,
    run: (model, real) => run(model, real, given),
    toString: () => `${title} ${JSON.stringify(given)}`,
  }))
}

const onCode = { actor, at: which }

interface Creation {
  actor: Actor
  text: string
  name: string
  expiry: string
}

async function create(model: CodeModel, real: Real, given: Creation): Promise<void> {
  const [who, extra] = said(given.actor, real)
  const body = { code: given.text, type: 'percent-10', name: given.name, expiry_at: given.expiry }
  const details = { name: given.name, expiryAt: given.expiry }
  const expected = model.create(given.actor, given.text.trim().toUpperCase(), details)
  const answer = await real.calls.create(who, body, extra)
  expect(outcome(answer)).toBe(typeof expected === 'string' ? expected : '201')
  if (typeof expected === 'string') return
  expected.id = answer.json.id
  expectView(answer.json, expected, real)
}

/** Creates the initial codes of both tenants. */
export async function begin(model: CodeModel, real: Real): Promise<void> {
  const details = { name: 'Ten off', expiry: '2099-01-01T00:00:00.000Z' }
  for (const tenant of ['left', 'right'] as const) {
    for (const one of ['SALE', 'VIP-1']) {
      await create(model, real, { actor: { role: 'Editor', tenant }, text: one, ...details })
    }
  }
}

const creates = command('create', fc.record({ actor, text, name, expiry }), create)

const reads = command('read', fc.record(onCode), async (model, real, { actor: by, at }) => {
  const code = chosen(model, by, at)
  const [who, extra] = said(by, real)
  expectOutcome(await real.calls.read(who, idOf(code), extra), model.read(by, code), code, real)
})

const lists = command('list', fc.record({ actor, deleted: fc.boolean() }), async (model, real, given) => {
  const [who, { query }] = said(given.actor, real)
  const expected = model.list(given.actor, given.deleted)
  const answer = await real.calls.list(who, { ...query, ...(given.deleted && { include_deleted: 'true' }) })
  expect(outcome(answer)).toBe(typeof expected === 'string' ? expected : '200')
  if (typeof expected === 'string') return
  expect(answer.json.data.map(({ id }: { id: string }) => id)).toEqual(expected.map(({ id }) => id))
  for (const [at, code] of expected.entries()) expectView(answer.json.data[at], code, real)
})

const updates = command('update', fc.record({ ...onCode, change }), async (model, real, given) => {
  const code = chosen(model, given.actor, given.at)
  const id = idOf(code)
  const [who, extra] = said(given.actor, real)
  const { ifMatch, to } = given.change
  const seer = { role: 'Admin', tenant: real.tenants.left, scope: 'codes:read' }
  const { headers } = await real.calls.read(seer, id)
  const tags = { current: headers.ETag ?? '"none"', stale: '"stale"', any: '*', missing: undefined }
  const body = 'past' in to ? { expiry_at: '2020-01-01T00:00:00Z' } : to
  const expected = model.update(given.actor, code, given.change)
  const answer = await real.calls.update(who, id, tags[ifMatch], body, extra)
  expectOutcome(answer, expected, code, real)
  if (expected === '200') expect(answer.headers.ETag).not.toBe(headers.ETag)
})

const deletes = command('soft delete', fc.record(onCode), async (model, real, { actor: by, at }) => {
  const code = chosen(model, by, at)
  const [who, extra] = said(by, real)
  const expected = model.softDelete(by, code)
  expectOutcome(await real.calls.softDelete(who, idOf(code), extra), expected, code, real)
})

const restores = command('restore', fc.record(onCode), async (model, real, { actor: by, at }) => {
  const code = chosen(model, by, at)
  const [who, extra] = said(by, real)
  const expected = model.restore(by, code)
  expectOutcome(await real.calls.restore(who, idOf(code), extra), expected, code, real)
})

const shares = command('share', fc.record({ ...onCode, grantee: side }), async (model, real, given) => {
  const code = chosen(model, given.actor, given.at)
  const [who, extra] = said(given.actor, real)
  const expected = model.share(given.actor, code, given.grantee)
  const answer = await real.calls.share(who, idOf(code), real.tenants[given.grantee], extra)
  expectOutcome(answer, expected, code, real)
})

const removals = command(
  'hard delete',
  fc.record({ ...onCode, reason: fc.constantFrom('asked for', 'asked for', undefined) }),
  async (model, real, { actor: by, at, reason }) => {
    const code = chosen(model, by, at)
    const [who, extra] = said(by, real)
    const expected = model.hardDelete(by, code, reason)
    expectOutcome(await real.calls.hardDelete(who, idOf(code), reason, extra), expected, code, real)
  },
)

/** Generates a sequence of calls, mostly changes, without a bias to the simplest values. */
export const sequences = fc.noBias(
  fc.commands(
    [creates, updates, updates, deletes, deletes, restores, restores, removals, reads, lists, shares],
    { maxCommands: 40, size: 'max' },
  ),
)
