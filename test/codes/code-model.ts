/**
 * A model of the codes of two tenants, in memory and sequential. Each method applies a call and returns its expected
 * outcome.
 */

export type Side = 'left' | 'right'

export interface Actor {
  role: 'Viewer' | 'Editor' | 'Admin'
  tenant: Side
  /** The tenant named in the call, if any. */
  names?: Side
}

export interface ModelCode {
  id: string
  tenant: Side
  text: string
  name: string
  expiryAt: string
  deleted: boolean
  removed: boolean
  version: number
}

export interface Change {
  ifMatch: 'current' | 'stale' | 'any' | 'missing'
  to: { name: string } | { expiry_at: string } | { code: string } | { past: true }
}

type Kind = 'create' | 'read' | 'list' | 'update' | 'soft_delete' | 'restore' | 'share' | 'hard_delete'

const allowed: Record<Kind, Actor['role'][]> = {
  create: ['Editor', 'Admin'],
  read: ['Viewer', 'Editor', 'Admin'],
  list: ['Viewer', 'Editor', 'Admin'],
  update: ['Editor', 'Admin'],
  soft_delete: ['Editor', 'Admin'],
  restore: ['Editor', 'Admin'],
  share: ['Editor', 'Admin'],
  hard_delete: ['Admin'],
}

export class CodeModel {
  readonly codes: ModelCode[] = []
  /** The expected audit records of allowed calls, by tenant. */
  readonly audited: Record<Side, string[]> = { left: [], right: [] }

  create(actor: Actor, text: string, details: { name: string; expiryAt: string }): string | ModelCode {
    const tenant = actor.names ?? actor.tenant
    const denied = this.#denied('create', actor)
    if (denied) return denied
    if (this.stored(tenant).some((code) => code.text === text)) return '409 CONFLICT.code.exists'
    const code = { id: '', tenant, text, ...details, deleted: false, removed: false, version: 1 }
    this.codes.push(code)
    return code
  }

  read(actor: Actor, code: ModelCode | undefined): string {
    return this.#denied('read', actor) ?? this.#missing(actor, code) ?? '200'
  }

  /** Returns the codes of a list, newest first, or the error. */
  list(actor: Actor, withDeleted: boolean): string | ModelCode[] {
    const denied = this.#denied('list', actor)
    if (denied) return denied
    if (withDeleted && actor.role !== 'Admin') return '403 AUTHZ.filter.denied'
    const all = this.stored(actor.names ?? actor.tenant)
    return all.filter(({ deleted }) => withDeleted || !deleted).reverse()
  }

  update(actor: Actor, code: ModelCode | undefined, { ifMatch, to }: Change): string {
    const denied = this.#denied('update', actor)
    if (denied) return denied
    if (ifMatch === 'missing') return '428 VALIDATION.if_match.required'
    if ('code' in to) return '403 AUTHZ.field.denied'
    const missing = this.#missing(actor, code)
    if (missing || !code) return missing ?? ''
    if (code.deleted && actor.role !== 'Admin') return '409 CONFLICT.soft_deleted'
    if (ifMatch === 'stale') return '412 CONFLICT.etag.mismatch'
    if ('past' in to) return '400 VALIDATION.date.range'
    if ('name' in to) code.name = to.name
    else code.expiryAt = to.expiry_at
    return this.#changed(code, 'update', '200')
  }

  softDelete(actor: Actor, code: ModelCode | undefined): string {
    const refused = this.#denied('soft_delete', actor) ?? this.#missing(actor, code)
    if (refused || !code) return refused ?? ''
    if (code.deleted) return '204'
    code.deleted = true
    return this.#changed(code, 'soft_delete', '204')
  }

  restore(actor: Actor, code: ModelCode | undefined): string {
    const refused = this.#denied('restore', actor) ?? this.#missing(actor, code)
    if (refused || !code) return refused ?? ''
    if (!code.deleted) return '409 CONFLICT.not_deleted'
    code.deleted = false
    return this.#changed(code, 'restore', '200')
  }

  share(actor: Actor, code: ModelCode | undefined, grantee: Side): string {
    const refused = this.#denied('share', actor) ?? this.#missing(actor, code)
    if (refused || !code) return refused ?? ''
    if (actor.role !== 'Admin' && grantee !== actor.tenant) return '403 AUTHZ.scope.tenant'
    if (code.deleted) return '409 CONFLICT.soft_deleted'
    this.audited[code.tenant].push('share')
    return '200'
  }

  hardDelete(actor: Actor, code: ModelCode | undefined, reason: string | undefined): string {
    const denied = this.#denied('hard_delete', actor)
    if (denied) return denied
    if (reason === undefined) return '400 VALIDATION.reason.required'
    const missing = this.#missing(actor, code)
    if (missing || !code) return missing ?? ''
    code.removed = true
    this.audited[code.tenant].push('hard_delete')
    return '204'
  }

  /** Returns the remaining codes of a tenant, oldest first. */
  stored(tenant: Side): ModelCode[] {
    return this.codes.filter((code) => code.tenant === tenant && !code.removed)
  }

  #denied(kind: Kind, { role, tenant, names }: Actor): string | undefined {
    if (!allowed[kind].includes(role)) return '403 AUTHZ.role.denied'
    if (role !== 'Admin' && names !== undefined && names !== tenant) return '404 AUTHZ.scope.tenant'
    return undefined
  }

  #missing({ role, tenant, names }: Actor, code: ModelCode | undefined): string | undefined {
    const reached = role === 'Admin' ? (names ?? code?.tenant) : tenant
    return code && !code.removed && code.tenant === reached ? undefined : '404 NOT_FOUND.code'
  }

  #changed(code: ModelCode, action: string, outcome: string): string {
    code.version += 1
    this.audited[code.tenant].push(action)
    return outcome
  }
}
