import type { PreTokenGenerationV2TriggerEvent } from 'aws-lambda'
import { addClaims } from '#shared/login/add-claims.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'

/** Cognito's limit for a trigger is five seconds. */
const budgetMilliseconds = 4000

/** Adds the claims of a user to the tokens that the pool is about to issue. */
export const handler = eventFunction(
  { table: deployedTable, blockCheck },
  (event: PreTokenGenerationV2TriggerEvent, runtime, correlationId) => {
    const { clock, settings, isBlocked } = runtime
    const table = runtime.openTable(startBudget(clock, budgetMilliseconds))
    return addClaims(event, { table, clock, settings, correlationId, isBlocked })
  },
)
