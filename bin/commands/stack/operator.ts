import { userInfo } from 'node:os'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { unseenCharacter } from '#shared/platform/base/failure.ts'
import { type DeployedStack, openTable } from './deployment.ts'
import type { Operator } from './operator-audit.ts'

/**
 * Returns the operator who runs a command on a deployment.
 * @throws Error for a name that the audit would not show as it is
 */
export async function operatorOn(stack: DeployedStack): Promise<Operator> {
  const name = await operatorName(stack)
  if (unseenCharacter.test(name))
    throw new Error('the name of the operator has invisible or bidirectional characters')
  return { table: openTable(stack), clock: systemClock, name }
}

/**
 * Returns the ARN of the AWS credentials of a command. That of an assumed role ends with the name of its session. All
 * users of the local run share its credentials, so it is their name in the operating system there.
 */
async function operatorName({ access }: Pick<DeployedStack, 'access'>): Promise<string> {
  if (access.endpoint !== undefined) return systemUser()
  const { Arn } = await new STSClient(access).send(new GetCallerIdentityCommand({}))
  if (!Arn) throw new Error('AWS returns no ARN for these credentials')
  return Arn
}

function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that no user has.
    return `uid:${process.getuid?.()}`
  }
}
