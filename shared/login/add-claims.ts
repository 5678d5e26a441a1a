import type { PreTokenGenerationV2TriggerEvent } from 'aws-lambda'
import { auditPut } from '../platform/audit/audit-record.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { BlockCheck } from '../platform/identity/blocked-tenants.ts'
import type { Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { claimsFor, type PoolUser, userOf } from './token-claims.ts'

interface ClaimsContext {
  table: Table
  clock: Clock
  settings: Settings
  correlationId: string
  isBlocked: BlockCheck
}

/**
 * The scope of Cognito's own API, with which a user may enroll second factors and delete the account. Only operators may
 * do that, and a stolen token must not. Cognito renews and revokes tokens without it.
 */
const selfService = 'aws.cognito.signin.user.admin'

/**
 * Adds the claims of a user to the tokens that the pool is about to issue. A token refresh is audited first as
 * token.rotated; without that audit record no token is issued. A user of a blocked tenant gets a token without tenant and role,
 * and no audit record.
 * @throws DEPENDENCY.*, when the audit record cannot be written; the pool then issues nothing
 */
export async function addClaims(
  event: PreTokenGenerationV2TriggerEvent,
  adding: ClaimsContext,
): Promise<PreTokenGenerationV2TriggerEvent> {
  const { triggerSource, request } = event
  const user = userOf(request.userAttributes)
  const issuer = `https://cognito-idp.${event.region}.amazonaws.com/${event.userPoolId}`
  // An error would raise the alarm on failing logins. The service rejects a token without a tenant.
  const isBlocked = user.tenant !== undefined && (await adding.isBlocked(user.tenant, adding.table))
  if (triggerSource === 'TokenGeneration_RefreshTokens' && !isBlocked)
    await auditRotation(user, issuer, adding)
  const identified = isBlocked ? { sub: user.sub, tenant: undefined, role: undefined } : user
  const { claims, scopes } = claimsFor(identified, adding.settings)
  return {
    ...event,
    response: {
      claimsAndScopeOverrideDetails: {
        accessTokenGeneration: {
          claimsToAddOrOverride: claims,
          scopesToAdd: scopes,
          scopesToSuppress: [selfService],
        },
      },
    },
  } as PreTokenGenerationV2TriggerEvent
}

async function auditRotation(user: PoolUser, iss: string, adding: ClaimsContext): Promise<void> {
  const { table, clock, settings, correlationId } = adding
  const { sub, tenant = settings['auth.publicTenant'], role } = user
  const caller = { sub, tenant, role, scopes: new Set<string>(), claims: { iss } }
  const source = { correlation: { id: correlationId }, clock }
  await table.put(auditPut(caller, { action: 'token.rotated', target: 'token' }, source))
}
