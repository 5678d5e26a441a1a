import { isDeepStrictEqual } from 'node:util'
import type { Template } from './assembly.ts'

/**
 * The types of resources that hold data, each with the properties that CloudFormation changes by replacing the resource. A
 * changed logical id replaces it, too.
 */
export const replacing: Readonly<Record<string, readonly string[]>> = {
  'AWS::Backup::BackupVault': ['BackupVaultName', 'EncryptionKeyArn'],
  'AWS::Cognito::UserPool': [],
  'AWS::DynamoDB::Table': [
    'TableName',
    'KeySchema',
    'LocalSecondaryIndexes',
    'ImportSourceSpecification',
    'AttributeDefinitions',
  ],
  'AWS::KMS::Key': [],
  'AWS::S3::Bucket': ['BucketName', 'BucketNamespace', 'BucketNamePrefix', 'ObjectLockEnabled'],
  'AWS::SecretsManager::Secret': ['Name'],
}

type Properties = Readonly<Record<string, unknown>>

/** Returns the resources with data that a deployment replaces by new, empty ones, each as a part of a sentence. */
export function replacedData(template: Template, deployed: Template): string[] {
  const adopts = typeof template.Outputs?.TableName?.Value === 'string'
  const used = tableIdOf(deployed)
  return Object.entries(deployed.Resources ?? {}).flatMap(([id, { Type, Properties = {} }]) => {
    const properties = replacing[Type]
    if (properties === undefined || (adopts && id === used)) return []
    const now = template.Resources?.[id]
    if (now?.Type !== Type) return [`${Type} ${id}, which the new template does not have`]
    const changed = properties.filter((name) => isChanged(name, Properties, now.Properties ?? {}))
    return changed.length === 0 ? [] : [`${Type} ${id} by a change of ${changed.join(', ')}`]
  })
}

/** Returns the logical id of the table that a template creates for the functions; nothing if they use an adopted one. */
function tableIdOf({ Outputs }: Template): string | undefined {
  return (Outputs?.TableName?.Value as { Ref?: string } | undefined)?.Ref
}

function isChanged(name: string, before: Properties, now: Properties): boolean {
  if (name !== 'AttributeDefinitions') return !isDeepStrictEqual(before[name], now[name])
  // A new attribute of an index replaces nothing; another type of an attribute does.
  const types = typesOf(now)
  return [...typesOf(before)].some(([attribute, type]) => (types.get(attribute) ?? type) !== type)
}

function typesOf({ AttributeDefinitions = [] }: Properties): Map<string, string> {
  const definitions = AttributeDefinitions as { AttributeName: string; AttributeType: string }[]
  return new Map(definitions.map(({ AttributeName, AttributeType }) => [AttributeName, AttributeType]))
}
