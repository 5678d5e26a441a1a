import type { Role } from './caller.ts'

/** The access of a role to an operation: denied, its own tenant, or all tenants. */
export type Reach = 'deny' | 'own' | 'any'

type Person = Exclude<Role, 'Service'>

/** The permissions of each role, one rule per cell. Anything that is not listed is denied. */
export const permissions = {
  create: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  read: { Viewer: 'own', Editor: 'own', Admin: 'any' },
  list: { Viewer: 'own', Editor: 'own', Admin: 'any' },
  update: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  soft_delete: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  restore: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  hard_delete: { Viewer: 'deny', Editor: 'deny', Admin: 'any' },
  transfer: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  share: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
} as const satisfies Record<string, Record<Person, Reach>>

/** A row of `matrix`. `transfer` is export, import and bulk update. */
export type Access = keyof typeof permissions

/**
 * @param actsAs the role whose permissions Service has, from the settings; always within its own tenant
 */
export function reachOf(role: Role | undefined, access: Access, actsAs: 'Viewer' | 'Editor'): Reach {
  if (role === undefined) return 'deny'
  return permissions[access][role === 'Service' ? actsAs : role]
}
