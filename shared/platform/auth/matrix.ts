import type { Role } from './caller.ts'

/** How far a role reaches in an operation: nowhere, its own tenant, or every tenant. */
export type Reach = 'deny' | 'own' | 'any'

type Person = Exclude<Role, 'Service'>

/** The table of the contract ('Roles and tenancy'), one cell a rule. Whatever is not here is denied. */
export const matrix = {
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

/** A row of the matrix. `transfer` is export, import and bulk update. */
export type Access = keyof typeof matrix

/**
 * @param actsAs the role whose rights the role Service has, from the settings; never beyond its own tenant
 */
export function reachOf(role: Role | undefined, access: Access, actsAs: 'Viewer' | 'Editor'): Reach {
  if (role === undefined) return 'deny'
  return matrix[access][role === 'Service' ? actsAs : role]
}
