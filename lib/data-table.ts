import { RemovalPolicy } from 'aws-cdk-lib'
import {
  AttributeType,
  BillingMode,
  type ITable,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from './stage.ts'

/** The table of the stack, or one that it adopted. */
export type DataTable = Table | ITable

/**
 * The one table of the service: every entity, idempotency record, audit record and outgoing event. A table that
 * `npm run restore` made takes its place as soon as the profile names it; where data is kept, the old one remains.
 */
export function dataTable(
  scope: Construct,
  { stage, settings, key }: { stage: Stage; settings: Settings; key: Key | undefined },
): DataTable {
  const restored = settings['storage.restoredTable']
  if (restored) {
    const { tableName, streamArn: tableStreamArn } = restored
    return Table.fromTableAttributes(scope, 'RestoredTable', { tableName, tableStreamArn })
  }
  const table = new Table(scope, 'Table', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    ...(key
      ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: key }
      : { encryption: TableEncryption.AWS_MANAGED }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    timeToLiveAttribute: 'expires_at',
    // The relay tells new events from those that the item carried already, so it needs both images.
    stream: StreamViewType.NEW_AND_OLD_IMAGES,
    deletionProtection: stage.deletionProtection,
    removalPolicy: removalOfProtected(stage),
  })
  table.addGlobalSecondaryIndex({
    indexName: byIdIndex,
    partitionKey: { name: 'id', type: AttributeType.STRING },
    projectionType: ProjectionType.KEYS_ONLY,
  })
  return table
}

/**
 * Returns what happens to a resource that holds data when its stack is deleted. A first deployment that fails deletes
 * it nevertheless: its name would be taken at the next attempt.
 */
export function removalOf(stage: Stage): RemovalPolicy {
  return stage.keepsData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY
}

/** Is for a resource that refuses to be deleted: a failed deployment that tried to delete it would be stuck. */
export function removalOfProtected(stage: Stage): RemovalPolicy {
  return stage.deletionProtection ? RemovalPolicy.RETAIN : removalOf(stage)
}
