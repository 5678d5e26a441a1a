import { type CloudFormationClient, DescribeTypeCommand } from '@aws-sdk/client-cloudformation'
import { GetEmailIdentityCommand, type SESv2Client } from '@aws-sdk/client-sesv2'
import type { Template } from './assembly.ts'

/**
 * Returns the services that the region does not have, such as SES, of those that only the new template uses. CloudFormation
 * knows no type of a service that its region does not have.
 */
export async function missingServices(
  template: Template,
  deployed: Template,
  cloudFormation: CloudFormationClient,
): Promise<string[]> {
  const known = typesByService(deployed)
  const missing: string[] = []
  for (const [service, types] of typesByService(template))
    if (!known.has(service) && !(await areKnownTypes(types, cloudFormation))) missing.push(service)
  return missing
}

/** Returns the types of resources by their service, such as `SES`. */
function typesByService({ Resources = {} }: Template): Map<string, string[]> {
  const types = new Set(Object.values(Resources).map(({ Type }) => Type))
  return Map.groupBy(
    [...types].filter((type) => type.startsWith('AWS::')),
    (type) => type.split('::')[1] ?? type,
  )
}

/** Returns whether CloudFormation knows one of these types in its region: an old type may not be in the registry. */
async function areKnownTypes(
  types: readonly string[],
  cloudFormation: CloudFormationClient,
): Promise<boolean> {
  for (const TypeName of types)
    try {
      await cloudFormation.send(new DescribeTypeCommand({ Type: 'RESOURCE', TypeName }))
      return true
    } catch (thrown) {
      if ((thrown as Error).name !== 'TypeNotFoundException') throw thrown
    }
  return false
}

/** Returns the mail identity that a deployment would create although the account has it already. */
export async function existingIdentity(
  template: Template,
  deployed: Template,
  ses: SESv2Client,
): Promise<string | undefined> {
  const [EmailIdentity] = identitiesOf(template)
  if (EmailIdentity === undefined || identitiesOf(deployed).includes(EmailIdentity)) return undefined
  try {
    await ses.send(new GetEmailIdentityCommand({ EmailIdentity }))
    return EmailIdentity
  } catch (thrown) {
    if ((thrown as Error).name !== 'NotFoundException') throw thrown
    return undefined
  }
}

/**
 * Returns the mail identity with which a deployment makes the user pool send, and which SES has not verified: Cognito
 * refuses it.
 */
export async function unverifiedIdentity(
  template: Template,
  deployed: Template,
  ses: SESv2Client,
): Promise<string | undefined> {
  const [EmailIdentity] = identitiesOf(template)
  const [before] = identitiesOf(deployed)
  if (EmailIdentity === undefined || !sendsWithSes(template)) return undefined
  if (EmailIdentity !== before) return EmailIdentity
  if (sendsWithSes(deployed)) return undefined
  const { VerifiedForSendingStatus } = await ses.send(new GetEmailIdentityCommand({ EmailIdentity }))
  return VerifiedForSendingStatus ? undefined : EmailIdentity
}

/** Returns whether the user pool sends through SES, as `verified` of mail.sender says. */
function sendsWithSes({ Resources = {} }: Template): boolean {
  return Object.values(Resources).some(
    ({ Type, Properties }) =>
      Type === 'AWS::Cognito::UserPool' &&
      (Properties?.EmailConfiguration as { EmailSendingAccount?: string } | undefined)
        ?.EmailSendingAccount === 'DEVELOPER',
  )
}

function identitiesOf({ Resources = {} }: Template): string[] {
  return Object.values(Resources)
    .filter(({ Type }) => Type === 'AWS::SES::EmailIdentity')
    .map(({ Properties }) => String(Properties?.EmailIdentity))
}
