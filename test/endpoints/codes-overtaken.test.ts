import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import {
  admin,
  audit,
  type CodeCalls,
  claims,
  codeCalls,
  editor,
  made,
  outcome,
  stored,
} from '#test/codes/code-calls.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const settings = { ...localSettings, 'codes.duplicate': { softDeletedKeepsCode: false } }
let service: Service
let calls: CodeCalls
beforeAll(async () => {
  service = await startService({ settings })
  calls = codeCalls(service)
})

/** The same service, in which somebody else is quicker: before each of so many transactions they do something. */
async function overtaken(times: number, meanwhile: () => Promise<unknown>): Promise<CodeCalls> {
  const client = testClient()
  const send = client.send.bind(client) as (...parameters: unknown[]) => Promise<unknown>
  let left = times
  const delayed = async (command: { constructor: { name: string } }, ...more: unknown[]) => {
    if (command.constructor.name === 'TransactWriteItemsCommand' && left > 0) {
      left -= 1
      await meanwhile()
    }
    return send(command, ...more)
  }
  const slow = Object.assign(client, { send: delayed }) as DynamoDBClient
  return codeCalls(await startService({ settings, client: slow, tableName: service.tableName }))
}

type Act = (of: CodeCalls, tenant: string, id: string) => Promise<Answer>
const acts: Record<string, { act: Act; success: number; deleted: boolean }> = {
  'a hard delete': {
    act: (of, tenant, id) => of.hardDelete(admin(tenant), id, 'requested'),
    success: 204,
    deleted: false,
  },
  'a soft delete': {
    act: (of, tenant, id) => of.softDelete(editor(tenant), id),
    success: 204,
    deleted: false,
  },
  'a restore': { act: (of, tenant, id) => of.restore(editor(tenant), id), success: 200, deleted: true },
}
const kinds = Object.entries(acts)

/** A code in the state that an act starts from. */
async function prepared(tenant: string, deleted: boolean): Promise<string> {
  const { id } = await made(calls, tenant)
  if (deleted) await calls.softDelete(editor(tenant), id)
  return id
}

describe('without a tag to go by, a change that somebody else overtakes', () => {
  test.each(kinds)('is decided anew: %s', async (kind, { act, success, deleted }) => {
    const tenant = kind.replaceAll(' ', '-')
    const id = await prepared(tenant, deleted)
    let changes = 0
    const rename = () => calls.update(admin(tenant), id, '*', { name: `name ${changes++}` })
    const answer = await act(await overtaken(3, rename), tenant, id)
    expect([answer.status, changes]).toEqual([success, 3])
    const code = await stored(service, tenant, id)
    if (kind === 'a hard delete') expect(code).toBeUndefined()
    else expect(code).toMatchObject({ name: 'name 2', soft_deleted: !deleted })
  })

  test.each(kinds)(
    'again and again may be sent again, and had no effect: %s',
    async (kind, { act, success, deleted }) => {
      const tenant = `unlucky-${kind.replaceAll(' ', '-')}`
      const id = await prepared(tenant, deleted)
      const rename = () => calls.update(admin(tenant), id, '*', { name: 'Other' })
      const [records, held] = [await audit(service, tenant), await claims(service, tenant)]
      const answer = await act(await overtaken(4, rename), tenant, id)
      expect([outcome(answer), answer.json.error.retryable]).toEqual(['500 TRANSIENT.error', true])
      expect(await stored(service, tenant, id)).toMatchObject({ soft_deleted: deleted })
      expect(await claims(service, tenant)).toEqual(held)
      expect((await audit(service, tenant)).slice(records.length).map(({ action }) => action)).toEqual(
        Array(4).fill('update'),
      )
      expect((await act(calls, tenant, id)).status).toBe(success)
    },
  )

  test.each(kinds)(
    'by the same change is told what became of the code: %s',
    async (kind, { act, deleted }) => {
      const tenant = `twin-${kind.replaceAll(' ', '-')}`
      const id = await prepared(tenant, deleted)
      const answer = await act(await overtaken(1, () => act(calls, tenant, id)), tenant, id)
      const expected = {
        'a hard delete': '404 NOT_FOUND.code',
        'a soft delete': '204',
        'a restore': '409 CONFLICT.not_deleted',
      }
      expect(outcome(answer)).toBe(expected[kind as keyof typeof expected])
    },
  )
})

test('an update that somebody overtakes is refused by its tag', async () => {
  const { id, etag } = await made(calls, 'update')
  const rename = () => calls.update(editor('update'), id, etag, { name: 'First' })
  const answer = await (await overtaken(1, rename)).update(editor('update'), id, etag, { name: 'Second' })
  expect(outcome(answer)).toBe('412 CONFLICT.etag.mismatch')
  expect(await stored(service, 'update', id)).toMatchObject({ name: 'First', version: 2 })
})

test('a restore whose text somebody takes in the last moment is refused', async () => {
  const { id } = await made(calls, 'late', { code: 'LATE' })
  await calls.softDelete(editor('late'), id)
  const take = () => made(calls, 'late', { code: 'LATE' })
  const answer = await (await overtaken(1, take)).restore(editor('late'), id)
  expect(outcome(answer)).toBe('409 CONFLICT.code.exists')
  expect(await stored(service, 'late', id)).toMatchObject({ soft_deleted: true, version: 2 })
})
