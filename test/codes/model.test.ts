import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { runs } from '#test/support/runs.ts'
import { type Service, startService } from '#test/support/service.ts'
import { audit, codeCalls, locks } from './code-calls.ts'
import { begin, type Real, sequences } from './code-commands.ts'
import { CodeModel, type Side } from './code-model.ts'

/** A clock that advances with each read, so ids are in the order of their creation. */
function tickingClock(): Clock {
  let at = Date.parse('2026-05-01T12:00:00Z')
  return { ...systemClock, now: () => ++at }
}

/** Expects the stored codes of a tenant to equal those of the model, with one lock for each text and a counted version. */
async function expectStored(service: Service, model: CodeModel, side: Side, tenant: string) {
  const kept = model.stored(side)
  const items = await service.items(tenant, 'code')
  expect(items).toMatchObject(
    kept.map(({ id, text, name, expiryAt, deleted, version }) => ({
      id,
      sk: id,
      tenant_id: tenant,
      code: text,
      name,
      expiry_at: expiryAt,
      soft_deleted: deleted,
      state: deleted ? 'soft_deleted' : 'active',
      version,
    })),
  )
  for (const item of items) {
    expect(item.state_before_delete).toBe(item.soft_deleted ? 'active' : undefined)
    expect(String(item.updated_at) > String(item.created_at)).toBe(Number(item.version) > 1)
  }
  expect(await locks(service, tenant)).toEqual(Object.fromEntries(kept.map(({ text, id }) => [text, id])))
  const allowed = (await audit(service, tenant)).filter(({ result }) => result === 'allow')
  expect(allowed.map(({ action }) => action)).toEqual(model.audited[side])
}

test('any sequence of calls by any roles of two tenants matches the model, in responses and stored data', async () => {
  const service = await startService({ clock: tickingClock() })
  let sequence = 0
  await fc.assert(
    fc.asyncProperty(sequences, async (commands) => {
      const run = sequence++
      const real: Real = {
        calls: codeCalls(service),
        tenants: { left: `left-${run}`, right: `right-${run}` },
      }
      const model = new CodeModel()
      await begin(model, real)
      await fc.asyncModelRun(() => ({ model, real }), commands)
      for (const side of ['left', 'right'] as const) {
        await expectStored(service, model, side, real.tenants[side])
      }
    }),
    { ...runs(30) },
  )
})
