import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import type { Deployment, HttpAnswer, Send } from './deployment.ts'

const rows = 10_000
const bad = (row: number) => row % 100 === 0
const tenant = 'importer'
const editor = { tenant, role: 'Editor', sub: 'editor' }
const csv = { 'Content-Type': 'text/csv' }

/** Imports of customers by the workflow of the deployed stack: progress, rejections and cancellations. */
export function importsOverHttp(deployment: () => Deployment): void {
  const send = (path: string, options: Send = {}) => deployment().send(path, { as: editor, ...options })
  const upload = (body: string, options: Send = {}) =>
    send('/imports', { method: 'POST', body, headers: csv, ...options })

  async function follow(id: string): Promise<{ last: HttpAnswer; seen: number[] }> {
    const seen: number[] = []
    for (const until = Date.now() + 840_000; Date.now() < until; await sleep(500)) {
      const last = await send(`/operations/${id}`)
      seen.push(last.json.progress)
      if (!['pending', 'running'].includes(last.json.state)) return { last, seen }
      expect(last.headers.get('retry-after')).toBe('1')
    }
    throw new Error(`operation ${id} did not end: ${JSON.stringify((await send(`/operations/${id}`)).json)}`)
  }

  test('ten thousand rows with one percent invalid become customers, and all counts add up', async () => {
    const lines = Array.from({ length: rows }, (_, n) =>
      bad(n + 1) ? `nobody-${n + 1},Bad,XX` : `customer-${n + 1}@example.com,"Name ${n + 1}, ""quoted""",DE`,
    )
    const file = `email,name,country\r\n${lines.join('\r\n')}\r\n`
    const begun = await upload(file)
    expect([begun.status, begun.headers.get('idempotency-status')]).toEqual([202, null])
    const id = begun.json.operation_id
    expect(begun.headers.get('location')).toMatch(new RegExp(`/operations/${id}$`))
    const { last, seen } = await follow(id)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect([last.status, last.json.state, last.json.progress]).toEqual([200, 'succeeded', 1])
    const { outcome, counts, rejects, rejects_url: link } = last.json.result
    expect([outcome, counts]).toEqual(['PARTIAL', { total: rows, succeeded: 9_900, failed: 100 }])
    expect(rejects).toHaveLength(100)
    expect(rejects[0]).toEqual({ row: 100, code: 'VALIDATION.email', field: 'email' })
    const download = await fetch(link)
    expect(download.headers.get('content-disposition')).toContain(`rejects_${id}.csv`)
    const all = (await download.text()).trimEnd().split('\r\n')
    expect([all.length, all[0], all.at(-1)]).toEqual([
      101,
      'row,code,field',
      `${rows},VALIDATION.email,email`,
    ])

    const again = await upload(file)
    expect([again.status, again.json.operation_id, again.headers.get('idempotency-status')]).toEqual([
      202,
      id,
      'replayed',
    ])
    const audit = await deployment().run('audit', 'list', '--tenant', tenant)
    expect(audit.map(({ action, result }) => `${action} ${result}`)).toEqual(['import allow'])
    expect(JSON.stringify(audit)).not.toContain('@example.com')
  })

  test('a canceled import ends as canceled', async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `canceled-${n}@example.com`)
    const { json } = await upload(`email\n${lines.join('\n')}\n`)
    const path = `/operations/${json.operation_id}`
    expect((await send(`${path}:cancel`, { method: 'POST', body: {} })).status).toBe(200)
    const { last } = await follow(json.operation_id)
    expect(last.json.state).toBe('canceled')
    const { total, succeeded, failed } = last.json.result.counts
    expect(succeeded + failed).toBe(total)
    expect(total).toBeLessThan(20_000)
  })
}
