import type { Cart } from '#shared/carts/cart.ts'
import { asCode } from '#shared/codes/code-store.ts'
import type { AuditRecord } from '#shared/platform/audit/audit-record.ts'
import { madeAt, type SharedPromise, typedOwnerOf } from './promise.ts'

type CodeFact =
  | { kind: 'code'; lock: string; type: string; version: number; at: string }
  | { kind: 'lock'; text: string; at?: string }
  | { kind: 'audit'; action: string; at: string }
  | { kind: 'line'; cart: string; rule: string; at?: string }

/** Each of these adds one to the version of a code. */
const changes = ['update', 'soft_delete', 'restore']

/** Each code has the lock of its text, each lock its code, each change its audit record, and each line the rule of its code. */
export const codePromise: SharedPromise<CodeFact> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    switch (entity) {
      case 'code': {
        const { id, code, lock_key: lock = code, type, version, updated_at: at } = asCode(item)
        state(tenant, `code/${id}`, { kind: 'code', lock, type, version, at })
        break
      }
      case 'code_lock':
        state(tenant, `code/${item.code_id}`, {
          kind: 'lock',
          text: item.sk,
          ...madeAt(String(item.code_id)),
        })
        break
      case 'audit': {
        const { target, action, result, at } = item as unknown as AuditRecord
        const isChange = result === 'allow' && [...changes, 'hard_delete'].includes(action)
        if (isChange && /^code\/./.test(target)) state(tenant, target, { kind: 'audit', action, at })
        break
      }
      case 'cart': {
        const { cart_id: cart, discounts = [] } = item as unknown as Cart
        for (const { code_id, rule_id: rule } of discounts)
          state(tenant, `code/${code_id}`, { kind: 'line', cart, rule })
      }
    }
  },

  judge(facts, _, { settings, restoredAt }, broken) {
    const code = facts.find((fact) => fact.kind === 'code')
    const locks = facts.filter((fact) => fact.kind === 'lock')
    const actions = facts.flatMap((fact) => (fact.kind === 'audit' ? [fact.action] : []))
    const lines = facts.filter((fact) => fact.kind === 'line')
    if (!code) {
      if (locks.length > 0)
        broken('a text belongs to one code', 'the lock of a text names it, and there is no such code')
      if (lines.length > 0 && !actions.includes('hard_delete'))
        broken(
          'lines follow their rules',
          `the cart ${lines[0]?.cart} has a line of it, and it never existed`,
        )
      return
    }
    if (locks.length !== 1)
      broken(
        'a text belongs to one code',
        `it has ${locks.length || 'no'} lock${locks.length > 1 ? 's' : ''}`,
      )
    else if (locks[0]?.text !== code.lock)
      broken('a text belongs to one code', 'its lock is that of another text')
    const count = actions.filter((action) => changes.includes(action)).length
    const isUndone = restoredAt !== undefined && count > code.version - 1
    if (count !== code.version - 1 && !isUndone)
      broken('all changes are audited', `it has version ${code.version}, and the audit has ${count} changes`)
    const rule = settings['codes.types'][code.type]?.rule_id
    for (const line of rule === undefined ? [] : lines)
      if (line.rule !== rule)
        broken(
          'lines follow their rules',
          `its rule is ${rule}, and its line on the cart ${line.cart} follows ${line.rule}`,
        )
  },
}
