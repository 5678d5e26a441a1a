import type { Scope } from '../platform/auth/authorise.ts'
import { locate } from '../platform/auth/locate.ts'
import { fail } from '../platform/errors/failure.ts'
import type { Context } from '../platform/http/endpoint.ts'
import { noContent, type Reply } from '../platform/http/reply.ts'
import { isUuidV7 } from '../platform/ids/uuid-v7.ts'
import { type Item, type Key, keyOf, ownerOf } from '../platform/table/keys.ts'
import type { Settings } from '../settings/register.ts'
import { type Code, softDeleteCode } from './code.ts'
import { auditOfCode } from './code-audit.ts'
import { mayStart } from './code-states.ts'
import { asCode, changedCode, setAsideClaim, softDeletedCode } from './code-store.ts'

type Circumstances = Pick<Context, 'table' | 'settings' | 'now'>

/**
 * Decides the soft delete of a code (contract, 'States and transitions'). It is written without being read, as nearly
 * every delete is of a live code in the caller's own tenant; what stood in the way decides otherwise.
 * @throws NOT_FOUND.code
 */
export async function softDelete(id: string, scope: Scope, context: Circumstances): Promise<Reply> {
  const { table, settings } = context
  if (isUuidV7(id) && settings['codes.duplicate'].softDeletedKeepsCode) {
    return unread(keyOf(scope.tenant, 'code', id), scope, context)
  }
  return known(await locate(table, scope, 'code', id, 'NOT_FOUND.code', settings), scope, context)
}

function unread(key: Key, scope: Scope, context: Circumstances): Reply {
  const { table, settings, now } = context
  const { tenant } = ownerOf(key.pk)
  return noContent({
    writes: [softDeletedCode(key, now(), settings)],
    audit: {
      ...auditOfCode('soft_delete', { id: key.sk, tenant_id: tenant }),
      before: { soft_deleted: false },
      after: { soft_deleted: true },
    },
    refused: async (existing) => {
      const found = existing ?? (await locate(table, scope, 'code', key.sk, 'NOT_FOUND.code', settings))
      return known(found, scope, context)
    },
  })
}

function known(item: Item, scope: Scope, context: Circumstances): Reply {
  const { settings } = context
  const code = asCode(item)
  if (!mayStart('soft_delete', code.state, settings)) return again(settings)
  const key = { pk: item.pk, sk: item.sk }
  return settings['codes.duplicate'].softDeletedKeepsCode
    ? unread(key, scope, context)
    : settingItsTextFree(code, scope, context)
}

function again(settings: Settings): Reply {
  if (settings['codes.repeatedDelete'] === 404) throw fail('NOT_FOUND.code')
  return noContent()
}

/** Where a soft-deleted code does not keep its text, the claim has to go with it, and so the code has to be known. */
function settingItsTextFree(code: Code, scope: Scope, context: Circumstances): Reply {
  const { settings, now } = context
  const after = softDeleteCode(code, now())
  return noContent({
    writes: [changedCode(code, after, 'soft_delete', settings), ...setAsideClaim(code, after)],
    audit: {
      ...auditOfCode('soft_delete', code),
      before: { soft_deleted: false },
      after: { soft_deleted: true },
    },
    refused: () => softDelete(code.id, scope, context),
  })
}
