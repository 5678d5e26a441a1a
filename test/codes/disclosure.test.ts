import { expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
import { writtenLog } from '#test/support/written-log.ts'
import { admin, audit, editor, made, validCode, viewer } from './code-calls.ts'
import { calls, service } from './codes-service.ts'

test('neither audit nor log contains a name, text or key of a code', async () => {
  const canaries = ['CANARY-TEXT', 'Canary name', 'canary-key', 'Canary two', 'CANARY-OTHER', 'Canary reason']
  const [text, name, key, second, other, reason] = canaries
  const tenant = 'quiet'
  const { id, etag } = await made(calls, tenant, { code: text, name })
  const extra = { headers: { 'Idempotency-Key': key ?? '' } }
  const answers = [
    await calls.create(editor(tenant), validCode({ code: text, name: second }), extra),
    await calls.create(editor(tenant), validCode({ code: `${text}!${other}`, name: `${second}\u0000` })),
    await calls.create(editor(tenant), `{"name":"${name}`),
    await calls.update(editor(tenant), id, etag, { code: other }),
    await calls.update(editor(tenant), id, etag, { name: second }),
    await calls.update(editor(tenant), id, etag, { name: second }),
    await calls.list(admin(tenant), { q: name ?? '', code: text ?? '' }),
    await calls.softDelete(editor(tenant), id),
    await calls.update(editor(tenant), id, '*', { name: second }),
    await calls.restore(editor(tenant), id),
    await calls.share(editor(tenant), id, tenant),
    await calls.hardDelete(viewer(tenant), id, reason),
    await calls.hardDelete(admin(tenant), id, 'requested'),
  ]
  expect(answers.map(outcome)).toEqual([
    '409 CONFLICT.code.exists',
    '400 VALIDATION.body.invalid',
    '400 VALIDATION.body.json',
    '403 AUTHZ.field.denied',
    '200',
    '412 CONFLICT.etag.mismatch',
    '200',
    '204',
    '409 CONFLICT.soft_deleted',
    '200',
    '200',
    '403 AUTHZ.role.denied',
    '204',
  ])
  const written = writtenLog((log) => service.lines.forEach(log.request))
  expect(written.length).toBeGreaterThan(answers.length)
  const records = await audit(service, tenant)
  expect(records.length).toBeGreaterThan(6)
  for (const text of [JSON.stringify(records), JSON.stringify(service.lines), written.join('')]) {
    for (const canary of canaries) expect(text.toLowerCase()).not.toContain(canary.toLowerCase())
  }
})
