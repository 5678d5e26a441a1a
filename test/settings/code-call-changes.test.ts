import { describe, expect, test } from '@jest/globals'
import { audit } from '#test/codes/code-calls.ts'
import { both, codeIn, local, other, type Tenant } from '#test/codes/two-deployments.ts'
import { outcome } from '#test/support/outcome.ts'
import type { Service } from '#test/support/service.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

describe('operations on a code', () => {
  test('codes.hardDeleteReason', async () => {
    const answers = await both(async ({ tenant, make, send, admin }, service) => {
      const { id } = await make()
      const remove = async (headers: Record<string, string>) =>
        outcome(await send('DELETE', `/codes/${id}?force=true`, admin, { headers }))
      const outcomes = [
        await remove({ 'X-Audit-Log-Reason': '' }),
        await remove({ 'X-Reason': 'x'.repeat(21) }),
        await remove({ 'X-Audit-Log-Reason': 'because', 'X-Reason': 'twenty characters ok' }),
      ]
      return [...outcomes, (await audit(service, tenant)).at(-1)?.reason]
    })
    const missing = '400 VALIDATION.reason.required'
    expect(answers).toEqual([
      [missing, missing, '204', 'because'],
      [missing, '400 VALIDATION.header.invalid', '204', 'twenty characters ok'],
    ])
  })

  test('codes.missingIfMatch', async () => {
    const answers = await both(async ({ make, update, editor }) =>
      outcome(await update(editor, (await make()).id, undefined, { name: 'x' })),
    )
    expect(answers).toEqual(['428 VALIDATION.if_match.required', '400 VALIDATION.if_match.required'])
  })

  test('codes.share', async () => {
    const answers = await both(async ({ tenant, make, share, editor }, service) => {
      const { id } = await make()
      const answer = await share(editor, id, tenant)
      expect(await audit(service, tenant)).toMatchObject([{ action: 'share', result: 'allow' }])
      return [answer.status, answer.json?.id === id, answer.body === undefined]
    })
    expect(answers).toEqual([
      [200, true, false],
      [204, false, true],
    ])
  })
})

describe('files and batches of codes', () => {
  const line = (code: string, service: Service) => `N,${code},2099-01-01T00:00:00Z,${codeIn(service).type}`
  const csv = (...lines: string[]) => ['name,code,expiry_at,type', ...lines].join('\r\n')
  const importing = (tenant: Tenant, service: Service, body: string) =>
    tenant.send(
      'POST',
      service.settings['codes.import'].path,
      tenant.editor,
      { headers: { 'Content-Type': 'text/csv' } },
      body,
    )

  test('codes.export', async () => {
    const exported = await both(async ({ make, send, editor }) => {
      const { code } = await make({ code: 'CSV-1' })
      const one = await send('GET', '/codes:export', editor)
      const [header = '', row = ''] = (one.body ?? '').split('\r\n')
      await make({ code: 'CSV-2' })
      const two = await send('GET', '/codes:export', editor)
      await make({ code: 'CSV-3' })
      const three = await send('GET', '/codes:export', editor)
      await make({ code: 'CSV-4' })
      const four = await send('GET', '/codes:export', editor)
      const lasting = new URL(two.headers.Location ?? 'x:?seconds=none').searchParams.get('seconds')
      return [header, row.includes(code), ...[one, two, three, four].map(outcome), lasting]
    })
    expect(exported).toEqual([
      [
        'id,code,type,name,expiry_at,state,soft_deleted,created_at,updated_at',
        true,
        ...['200', '200', '200', '200'],
        'none',
      ],
      ['state,code', true, '200', '303', '303', '409 POLICY.export.row_limit', '60'],
    ])
  })

  test('codes.import', async () => {
    expect([local, other].map(({ settings }) => settings['codes.import'].path)).toEqual([
      '/codes:import',
      '/codes:load',
    ])
    const imported = await both(async (tenant, service) => {
      const files = [
        csv(line('ROW-1', service), line('ROW-2', service)),
        csv(line('ROW-3', service), line('ROW-4', service), line('ROW-5', service)),
        `${csv(line('ROW-6', service))}${'\r\n'.repeat(150)}`,
      ]
      const answers: string[] = []
      for (const file of files) answers.push(outcome(await importing(tenant, service, file)))
      return answers
    })
    expect(imported).toEqual([
      ['207', '207', '207'],
      ['207', '400 VALIDATION.csv.too_many_rows', '413 VALIDATION.body.invalid'],
    ])
  })

  test('codes.bulkUpdate and bulk.layout', async () => {
    const batches = await both(async ({ make, send, editor }, service) => {
      const items = await Promise.all(
        [1, 2, 3].map(async () => ({ id: (await make()).id, if_match: '*', name: 'Bulk' })),
      )
      const change = (count: number) =>
        send('POST', service.settings['codes.bulkUpdate'].path, editor, {}, { items: items.slice(0, count) })
      const two = await change(2)
      const rows = Object.values(two.json as Record<string, { row: number }[]>)[0]
      return [Object.keys(two.json), rows?.map(({ row }) => row), outcome(two), outcome(await change(3))]
    })
    expect(batches).toEqual([
      [['items', 'counts'], [1, 2], '207', '207'],
      [['results', 'summary'], [0, 1], '207', '400 VALIDATION.field.length'],
    ])
    expect([local, other].map(({ settings }) => settings['codes.bulkUpdate'].path)).toEqual([
      '/codes:bulkUpdate',
      '/codes:change',
    ])
  })
})

test('codes.bulkUpdate, its bytes', async () => {
  const outcomes = await both(async ({ send, editor }, service) =>
    outcome(
      await send(
        'POST',
        service.settings['codes.bulkUpdate'].path,
        editor,
        {},
        { items: ['x'.repeat(3000)] },
      ),
    ),
  )
  expect(outcomes).toEqual(['400 VALIDATION.field.type', '413 VALIDATION.body.invalid'])
})

describe('the list of codes', () => {
  test('codes.list', async () => {
    const pages = await both(async ({ make, list, viewer }) => {
      for (let n = 0; n < 20; n += 1) await make({ name: 'x'.repeat(64) })
      const { json } = await list(viewer, { page_size: '20' })
      return [json.data.length === 20, json.next_cursor === null]
    })
    expect(pages).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('lists.offsetPaging', async () => {
    const pages = await both(async ({ make, list, viewer }) => {
      await make()
      await make()
      return outcome(await list(viewer, { limit: '1', offset: '1' }))
    })
    expect(pages).toEqual(['200', '400 VALIDATION.filter.unknown_key'])
  })

  test('lists.searchFields', async () => {
    const found = await both(async ({ make, list, viewer }) => {
      const { id, code } = await make()
      const hits = async (q: string) => (await list(viewer, { q })).json.data.length
      return [await hits(code), await hits(id)]
    })
    expect(found).toEqual([
      [1, 0],
      [0, 1],
    ])
  })

  test('lists.includeDeletedRoles', async () => {
    const seen = await both(async ({ make, softDelete, list, editor }) => {
      await softDelete(editor, (await make()).id)
      const answer = await list(editor, { include_deleted: 'true' })
      return [outcome(answer), answer.json.data?.length]
    })
    expect(seen).toEqual([
      ['403 AUTHZ.filter.denied', undefined],
      ['200', 1],
    ])
  })
})
