import { Duration, Validations } from 'aws-cdk-lib'
import * as cognito from 'aws-cdk-lib/aws-cognito'
import type { Construct } from 'constructs'
import { userAttributes } from '#shared/login/token-claims.ts'
import type { Settings } from '#shared/settings/register.ts'
import { removalOfProtected } from '../data/data-table.ts'
import type { Mailing } from '../messages/mail.ts'
import type { Stage } from '../stage.ts'

/** The user pool with the users and their passwords, and the client for logins. */
export interface Users {
  pool: cognito.UserPool
  client: cognito.UserPoolClient
  /** The issuer in the users' tokens. */
  issuer: string
}

/**
 * Creates the user pool. Only operators create users and set their tenant and role. Access tokens get both from the
 * function that is the pool's trigger (`pool.token` in functions/subscriptions.ts).
 */
export function userPool(
  scope: Construct,
  { stage, settings, mail }: { stage: Stage; settings: Settings; mail: Mailing | undefined },
): Users {
  const pool = new cognito.UserPool(scope, 'Users', {
    // Plans below this one cannot add claims to access tokens.
    featurePlan: cognito.FeaturePlan.ESSENTIALS,
    selfSignUpEnabled: false,
    signInAliases: { email: true },
    signInCaseSensitive: false,
    autoVerify: { email: true },
    accountRecovery: cognito.AccountRecovery.EMAIL_ONLY,
    passwordPolicy: {
      minLength: 12,
      requireLowercase: true,
      requireUppercase: true,
      requireDigits: true,
      requireSymbols: true,
      tempPasswordValidity: Duration.days(3),
    },
    mfa: cognito.Mfa.OPTIONAL,
    mfaSecondFactor: { sms: false, otp: true },
    customAttributes: {
      [userAttributes.tenant]: new cognito.StringAttribute({ minLen: 1, maxLen: 64, mutable: false }),
      [userAttributes.role]: new cognito.StringAttribute({ minLen: 1, maxLen: 16, mutable: true }),
    },
    deletionProtection: stage.keepsData,
    removalPolicy: removalOfProtected(stage),
  })
  Validations.of(pool).acknowledge(
    {
      id: 'AwsSolutions-COG2',
      reason:
        'The setting auth.mfa names the operations that require a second factor; the pool accepts one from users who have set it up.',
    },
    {
      id: 'AwsSolutions-COG8',
      reason:
        'Threat protection needs a plan with a higher price per user. Logins are throttled by the service, and the web ACL requires a CAPTCHA.',
    },
  )
  if (mail && settings['mail.sender']?.domain?.verified) sendWithSes(pool, mail)
  return { pool, client: loginClient(pool, settings), issuer: `https://${pool.userPoolProviderName}` }
}

/** Cognito's own sender is limited to 50 mails a day. Cognito rejects a domain that SES has not verified. */
function sendWithSes(pool: cognito.UserPool, { from, identity, configurationSet }: Mailing): void {
  const resource = pool.node.defaultChild as cognito.CfnUserPool
  resource.emailConfiguration = {
    emailSendingAccount: 'DEVELOPER',
    from,
    sourceArn: identity.emailIdentityArn,
    ...(configurationSet && { configurationSet: configurationSet.configurationSetName }),
  }
}

function loginClient(pool: cognito.UserPool, settings: Settings): cognito.UserPoolClient {
  const { accessMinutes, refreshDays } = settings['login.tokenLifetimes']
  return pool.addClient('LoginClient', {
    // Callers must not be able to start a flow with a password, which would bypass the throttle of POST /login.
    authFlows: { adminUserPassword: true },
    disableOAuth: true,
    generateSecret: false,
    preventUserExistenceErrors: true,
    enableTokenRevocation: true,
    accessTokenValidity: Duration.minutes(accessMinutes),
    idTokenValidity: Duration.minutes(accessMinutes),
    refreshTokenValidity: Duration.days(refreshDays),
    // With a token of this client users may change only their locale, not their tenant, role or e-mail.
    readAttributes: new cognito.ClientAttributes().withStandardAttributes({
      email: true,
      emailVerified: true,
    }),
    writeAttributes: new cognito.ClientAttributes().withStandardAttributes({ locale: true }),
  })
}
