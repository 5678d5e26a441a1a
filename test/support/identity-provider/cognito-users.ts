/** The password of every user of the fake. */
export const password = 'Correct-horse-1'
export const userPoolId = 'us-east-1_test'
export const clientId = 'test-client'

export interface CognitoAnswer {
  status: number
  body: Record<string, unknown>
}

type Input = Record<string, unknown> & { ClientId?: string; AuthParameters?: Record<string, string> }

const refused = (type: string, message: string): CognitoAnswer => ({
  status: 400,
  body: { __type: type, message },
})
const wrong = () => refused('NotAuthorizedException', 'Incorrect username or password.')
const challenge = (name: string): CognitoAnswer => ({
  status: 200,
  body: { ChallengeName: name, Session: 'session', ChallengeParameters: {} },
})

/** Users that are rejected before the password check, by the part of their e-mail before the first hyphen. */
const refusedAtOnce: Record<string, () => CognitoAnswer> = {
  disabled: () => refused('NotAuthorizedException', 'User is disabled.'),
  locked: () => refused('NotAuthorizedException', 'Password attempts exceeded'),
  unconfirmed: () => refused('UserNotConfirmedException', 'User is not confirmed.'),
}

/** Users for whom the right password is not enough. */
const special: Record<string, () => CognitoAnswer> = {
  reset: () => refused('PasswordResetRequiredException', 'Password reset required for the user'),
  temporary: () => challenge('NEW_PASSWORD_REQUIRED'),
  totp: () => challenge('SOFTWARE_TOKEN_MFA'),
  setup: () => challenge('MFA_SETUP'),
}

/**
 * Fakes a user pool with Cognito's JSON interface and an app client that does not reveal which users exist. Every
 * e-mail has a user with the same password, whose tenant is the first label of its domain. Exceptions: unknown-…@… has
 * no user and homeless-…@… has no tenant.
 */
export function cognitoUsers() {
  const mailed: string[] = []

  function adminInitiateAuth({ AuthFlow, AuthParameters = {} }: Input): CognitoAnswer {
    const { USERNAME: email = '', PASSWORD: given } = AuthParameters
    if (AuthFlow !== 'ADMIN_USER_PASSWORD_AUTH')
      return refused('InvalidParameterException', 'Flow not enabled')
    const kind = email.split('-')[0] ?? ''
    if (kind === 'unknown') return wrong()
    const atOnce = refusedAtOnce[kind]
    if (atOnce) return atOnce()
    if (given !== password) return wrong()
    return special[kind]?.() ?? { status: 200, body: { AuthenticationResult: tokensOf(email, kind) } }
  }

  function forgotPassword({ Username: email }: Input): CognitoAnswer {
    if (String(email).startsWith('disabled-'))
      return refused('NotAuthorizedException', 'User password cannot be reset in the current state.')
    if (String(email).startsWith('eager-'))
      return refused('LimitExceededException', 'Attempt limit exceeded, please try after some time.')
    if (!String(email).startsWith('unknown-')) mailed.push(String(email))
    const details = { AttributeName: 'email', DeliveryMedium: 'EMAIL', Destination: 'x***@e***' }
    return { status: 200, body: { CodeDeliveryDetails: details } }
  }

  return {
    /** The recipients of mails, oldest first. */
    mailed,
    answerTo(operation: string, input: Input): CognitoAnswer {
      if (input.ClientId !== clientId) return refused('ResourceNotFoundException', 'No such client.')
      if (operation === 'AdminInitiateAuth') return adminInitiateAuth(input)
      if (operation === 'ForgotPassword') return forgotPassword(input)
      return refused('UnknownOperationException', operation)
    },
  }
}

function tokensOf(email: string, kind: string) {
  const [tenant] = (email.split('@')[1] ?? '').split('.')
  const claims = { sub: `sub-of-${email.length}`, ...(kind !== 'homeless' && { tenant }), canary: 'CANARY' }
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
  const token = (use: string) => `canary-header-${use}.${payload}.canary-signature-${crypto.randomUUID()}`
  return {
    AccessToken: token('access'),
    IdToken: token('id'),
    RefreshToken: token('refresh'),
    TokenType: 'Bearer',
    ExpiresIn: 3600,
  }
}
