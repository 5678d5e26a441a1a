import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { Item } from '../table/keys.ts'

/** Returns the item in an image of the table's stream. */
export function itemOf(image: unknown): Item | undefined {
  return image === undefined ? undefined : (unmarshall(image as Record<string, AttributeValue>) as Item)
}
