import type { Context, PreTokenGenerationV2TriggerEvent } from 'aws-lambda'
import { addClaims } from '#shared/login/add-claims.ts'
import { deployedSettings } from '#shared/platform/aws/deployed-settings.ts'
import { dynamodbClient, dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { systemClock } from '#shared/platform/base/clock.ts'

/** Cognito's limit for a trigger is five seconds. */
const budgetMilliseconds = 4000

/** Adds the claims of a user to the tokens that the pool is about to issue. */
export async function handler(
  event: PreTokenGenerationV2TriggerEvent,
  { awsRequestId }: Pick<Context, 'awsRequestId'>,
): Promise<PreTokenGenerationV2TriggerEvent> {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const table = dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, budget)
  const settings = deployedSettings()
  return addClaims(event, { table, clock: systemClock, settings, correlationId: awsRequestId })
}
