import type { Template } from './assembly.ts'

interface PolicyStatement {
  Effect: string
  Action: string | string[]
  Resource: unknown
  Condition?: { 'ForAllValues:StringLike'?: { 'dynamodb:LeadingKeys'?: string[] } }
}

/**
 * Returns what functions that stay may no longer do, each as a part of a sentence.
 * @param templates those of a stack and of its nested stacks
 */
export function lostPermissions(templates: readonly Template[], deployed: readonly Template[]): string[] {
  const permissions = new Map(templates.flatMap(permissionsIn))
  return deployed.flatMap(permissionsIn).flatMap(([id, before]) => {
    const now = permissions.get(id)
    const lost = now ? [...before].filter((one) => !now.has(one)) : []
    return lost.length === 0 ? [] : [`${id.replace(/[0-9A-F]{8}$/, '')} may no longer use ${lost.join(', ')}`]
  })
}

/** Returns what each function may do, by its logical id: each text is an action and what it may be used on. */
export function permissionsIn({ Resources = {} }: Template): [id: string, permissions: Set<string>][] {
  const policies = Object.values(Resources).filter(({ Type }) => Type === 'AWS::IAM::Policy')
  return Object.entries(Resources).flatMap(([id, { Type, Properties = {} }]) => {
    if (Type !== 'AWS::Lambda::Function') return []
    const [role] = (Properties.Role as { 'Fn::GetAtt'?: string[] } | undefined)?.['Fn::GetAtt'] ?? []
    const own = policies.filter((one) =>
      (one.Properties?.Roles as { Ref?: string }[])?.some(({ Ref }) => Ref === role),
    )
    const documents = own.map((one) => one.Properties?.PolicyDocument as { Statement: PolicyStatement[] })
    return [[id, new Set(documents.flatMap(({ Statement }) => Statement.flatMap(permissionsOf)))]]
  })
}

/** On the table, a permission is on the partition keys of some kinds of items. */
function permissionsOf({ Effect, Action, Resource, Condition }: PolicyStatement): string[] {
  if (Effect !== 'Allow') return []
  const keys = Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys']
  const objects = keys ?? [Resource].flat().map(textOf)
  return [Action].flat().flatMap((action) => objects.map((one) => `${action} on ${one}`))
}

/** Returns the names and texts of which a value of a template consists. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.values(value).map(textOf).filter(Boolean).join('.')
}
