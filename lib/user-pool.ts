import { Duration, Validations } from 'aws-cdk-lib'
import {
  AccountRecovery,
  type CfnUserPool,
  ClientAttributes,
  FeaturePlan,
  Mfa,
  StringAttribute,
  UserPool,
  type UserPoolClient,
} from 'aws-cdk-lib/aws-cognito'
import type { Construct } from 'constructs'
import { userAttributes } from '#shared/login/token-claims.ts'
import type { Settings } from '#shared/settings/register.ts'
import { removalOfProtected } from './data-table.ts'
import type { Mailing } from './mail.ts'
import type { Stage } from './stage.ts'

/** The user pool with the users and their passwords, and the client for logins. */
export interface Users {
  pool: UserPool
  client: UserPoolClient
  /** The issuer in the users' tokens. */
  issuer: string
}

/**
 * Creates the user pool. Only operators create users and set their tenant and role. Access tokens get both from the
 * function that is the pool's trigger (`pool.token` in functions/subscriptions.ts).
 */
export function userPool(
  scope: Construct,
  { stage, settings, mail }: { stage: Stage; settings: Settings; mail: Mailing },
): Users {
  const pool = new UserPool(scope, 'Users', {
    // Plans below this one cannot add claims to access tokens.
    featurePlan: FeaturePlan.ESSENTIALS,
    selfSignUpEnabled: false,
    signInAliases: { email: true },
    signInCaseSensitive: false,
    autoVerify: { email: true },
    accountRecovery: AccountRecovery.EMAIL_ONLY,
    passwordPolicy: {
      minLength: 12,
      requireLowercase: true,
      requireUppercase: true,
      requireDigits: true,
      requireSymbols: true,
      tempPasswordValidity: Duration.days(3),
    },
    mfa: Mfa.OPTIONAL,
    mfaSecondFactor: { sms: false, otp: true },
    customAttributes: {
      [userAttributes.tenant]: new StringAttribute({ minLen: 1, maxLen: 64, mutable: false }),
      [userAttributes.role]: new StringAttribute({ minLen: 1, maxLen: 16, mutable: true }),
    },
    deletionProtection: stage.deletionProtection,
    removalPolicy: removalOfProtected(stage),
  })
  acknowledgeFindings(pool)
  if (settings['mail.domain']?.verified) sendThroughSes(pool, settings['otp.mail'].from, mail)
  return { pool, client: loginClient(pool, settings), issuer: `https://${pool.userPoolProviderName}` }
}

/**
 * Cognito's own sender is limited to 50 mails a day. SES replaces it once the domain is verified: before, Cognito
 * refuses to be deployed with SES.
 */
function sendThroughSes(pool: UserPool, from: string, { identity, configurationSet }: Mailing): void {
  const resource = pool.node.defaultChild as CfnUserPool
  resource.emailConfiguration = {
    emailSendingAccount: 'DEVELOPER',
    from,
    sourceArn: identity.emailIdentityArn,
    ...(configurationSet && { configurationSet: configurationSet.configurationSetName }),
  }
}

function loginClient(pool: UserPool, settings: Settings): UserPoolClient {
  const { accessMinutes, refreshDays } = settings['login.tokenLifetimes']
  const { flow } = settings['login.provider']
  return pool.addClient('LoginClient', {
    // Callers must not be able to start a flow with a password, which would bypass the throttle of POST /login.
    authFlows: { adminUserPassword: flow === 'ADMIN_USER_PASSWORD_AUTH' },
    disableOAuth: true,
    generateSecret: false,
    preventUserExistenceErrors: true,
    enableTokenRevocation: true,
    accessTokenValidity: Duration.minutes(accessMinutes),
    idTokenValidity: Duration.minutes(accessMinutes),
    refreshTokenValidity: Duration.days(refreshDays),
    // With a token of this client users may change only their locale, not their tenant, role or e-mail.
    readAttributes: new ClientAttributes().withStandardAttributes({ email: true, emailVerified: true }),
    writeAttributes: new ClientAttributes().withStandardAttributes({ locale: true }),
  })
}

function acknowledgeFindings(pool: UserPool): void {
  Validations.of(pool).acknowledge(
    {
      id: 'AwsSolutions-COG2',
      reason:
        'Who needs a second factor is decided by operation (setting auth.mfa) and by user; the pool takes one of whoever has set one up.',
    },
    {
      id: 'AwsSolutions-COG8',
      reason:
        'Threat protection belongs to a plan that costs more for each user, which the owner of the account chooses; the service throttles and the web ACL asks for a CAPTCHA.',
    },
  )
}
