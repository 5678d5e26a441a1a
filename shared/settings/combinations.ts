import type { SettingKey, Settings } from './register.ts'
import { isReachedFirst } from './setting.ts'
import { tenantNamePattern } from './tenant-name.ts'

type Combination = (settings: Settings) => readonly (string | false | undefined)[]

/** Headers that have a meaning already, in lower case. */
const standardHeaders = [
  ...['accept', 'authorization', 'content-encoding', 'content-length', 'content-type', 'cookie', 'host'],
  ...['idempotency-key', 'if-match', 'if-none-match', 'origin', 'sec-fetch-site', 'user-agent'],
  ...['x-correlation-id', 'x-request-timeout', 'traceparent', 'tracestate', 'baggage', 'x-forwarded-for'],
]

/** Finds two uses of one header, of which a request could make only one. */
const headers: Combination = (settings) => {
  const { idHeader, timestampHeader, signatureHeader } = settings['webhooks.scheme']
  const named = {
    'auth.apiKeyHeader': settings['auth.apiKeyHeader'],
    'auth.nonce': settings['auth.nonce'].header,
    'auth.csrf': settings['auth.csrf'].header,
    'codes.hardDeleteReason': settings['codes.hardDeleteReason'].header,
    'discount.cart': settings['discount.cart'].header,
    'idHeader of webhooks.scheme': idHeader,
    'timestampHeader of webhooks.scheme': timestampHeader,
    'signatureHeader of webhooks.scheme': signatureHeader,
  }
  const users = Map.groupBy(Object.entries(named), ([, header]) => header.toLowerCase())
  return Array.from(users, ([header, entries]) => {
    const settingsOfHeader = entries.map(([one]) => one).join(' and ')
    if (standardHeaders.includes(header)) return `${settingsOfHeader}: ${header} has another meaning`
    return entries.length > 1 && `${settingsOfHeader} name the same header ${header}`
  })
}

/** Finds entries for tenants that cannot exist. */
const tenantNames: Combination = (settings) => {
  const isTenant = (name: string) => tenantNamePattern(settings).test(name)
  const named = {
    'auth.issuers': settings['auth.issuers'].flatMap(({ tenants = [] }) => tenants),
    'auth.publicTenant': [settings['auth.publicTenant']],
    'storage.shards': Object.keys(settings['storage.shards'].tenants),
  }
  return Object.entries(named).flatMap(([key, names]) =>
    names.map((name) => !isTenant(name) && `${name} of ${key} is no tenant name`),
  )
}

/** Wrong attempts of one source at one address count for five minutes. */
const attemptSeconds = 300

/** Finds attempts that another limit rejects first. */
const attempts: Combination = (settings) => {
  const { maxAttempts: limit } = settings['otp.code']
  const { wrongAttempts, windowSeconds } = settings['otp.sourceThrottle']
  const { limit: daily } = settings['otp.dailyWrongAttempts']
  const ofSource = { limit: wrongAttempts, windowSeconds }
  return [
    limit >= daily && `maxAttempts ${limit} is never reached: otp.dailyWrongAttempts allows ${daily}`,
    isReachedFirst(ofSource, { limit, windowSeconds: attemptSeconds }) &&
      `maxAttempts ${limit} is never reached: otp.sourceThrottle allows ${wrongAttempts} in ${windowSeconds} s`,
  ]
}

/** Finds carts whose owners could not use them: their tokens or sessions do not exist, or are not accepted. */
const cartOwners: Combination = (settings) => {
  const name = settings['discount.cartOwners']
  const known = ['user_pool', 'sessions', ...settings['auth.issuers'].map(({ issuer }) => issuer)]
  const isDenied = name === 'sessions' && !settings['auth.sessionOperations'].includes('discount.verify')
  return [
    !known.includes(name) && `${name} is none of ${known.join(', ')}`,
    settings['discount.mayApply'] === 'owner' &&
      isDenied &&
      'sessions own carts, but auth.sessionOperations does not contain discount.verify',
  ]
}

/** Finds deliveries that are deleted before their last attempt. */
const retention: Combination = (settings) => {
  const { retriesAfterSeconds, jitter, maxRetryAfterSeconds } = settings['deliveries.schedule']
  const pauses = retriesAfterSeconds.map((pause) => Math.max(pause * (1 + jitter), maxRetryAfterSeconds))
  const days = Math.ceil(pauses.reduce((sum, pause) => sum + pause, 0) / 86_400)
  return [
    settings['deliveries.retentionDays'] < days &&
      `the retries of deliveries.schedule may take ${days} days: choose at least as many`,
  ]
}

/** Regions without SES. Preflight asks AWS about all services. */
const withoutSes = [
  ...['ap-east-1', 'ap-east-2', 'ap-southeast-4', 'ap-southeast-6', 'ap-southeast-7', 'eu-south-2'],
  'mx-central-1',
]

/** Finds a region without a service that the stack needs. A deployment would fail after minutes. */
const region: Combination = ({ 'aws.environment': environment, 'mail.sender': sender }) => {
  if (!environment) return []
  const { region } = environment
  return [
    region.startsWith('cn-') && `${region} has no user pools of Cognito: choose a region outside China`,
    sender !== null &&
      withoutSes.includes(region) &&
      `${region} has no SES: choose another region, or set mail.sender to null`,
  ]
}

/** Finds a certificate that the gateway cannot use. A deployment would fail after minutes. */
const certificate: Combination = ({ 'api.domain': domain, 'aws.environment': environment }) => {
  if (!domain || !environment) return []
  const [, , , region, account] = domain.certificateArn.split(':')
  return [
    region !== environment.region &&
      `the certificate is in ${region}: request one in ${environment.region}, the region of the stack`,
    account !== environment.account &&
      `the certificate is in account ${account}: request one in ${environment.account}, the account of the stack`,
  ]
}

const restoredTable: Combination = ({
  'storage.restoredTable': restored,
  'aws.environment': environment,
}) => {
  if (!restored || !environment) return []
  const [, , , region, account] = restored.streamArn.split(':')
  const isElsewhere = region !== environment.region || account !== environment.account
  return [isElsewhere && `the stream is in ${account} ${region}, but the stack is not (aws.environment)`]
}

/** Finds a sender or a MAIL FROM domain outside the domain that SES signs for. */
const mailDomain: Combination = (settings) => {
  const { from = '', domain } = settings['mail.sender'] ?? {}
  if (!domain) return []
  const within = (host: string) => host === domain.identity || host.endsWith(`.${domain.identity}`)
  const sender = from.split('@').at(-1) ?? ''
  return [
    !within(sender) && `${sender}, the domain of from, is not in ${domain.identity}`,
    !(within(domain.mailFrom) && domain.mailFrom !== domain.identity) &&
      `mailFrom has to be a subdomain of ${domain.identity}`,
  ]
}

/** What settings must not say together, by the setting that a message names first. */
const combinations: readonly [SettingKey, Combination][] = [
  ['auth.apiKeyHeader', headers],
  ['aws.environment', region],
  [
    'auth.sessionOperations',
    (settings) =>
      settings['auth.sessionOperations'].map(
        (one) =>
          settings['auth.mfa'].operations.includes(one) &&
          `${one} requires a second factor (auth.mfa), and a session has none`,
      ),
  ],
  ['requests.tenantName', tenantNames],
  [
    'idempotency.whilePending',
    (settings) => {
      const { maxMilliseconds: max } = settings['requests.timeoutHeader']
      const isLonger = settings['idempotency.whilePending'].waitSeconds * 1000 >= max
      return [
        isLonger && `waitSeconds must be below the time of a request, ${max} ms (requests.timeoutHeader)`,
      ]
    },
  ],
  [
    'auth.maxTokenSeconds',
    (settings) => [
      settings['login.tokenLifetimes'].accessMinutes * 60 > settings['auth.maxTokenSeconds'] &&
        'the tokens of the user pool live longer (login.tokenLifetimes)',
    ],
  ],
  ['otp.code', attempts],
  ['discount.cartOwners', cartOwners],
  ['deliveries.retentionDays', retention],
  [
    'api.gatewayAddress',
    (settings) => [
      settings['api.gatewayAddress'] === 'closed' &&
        settings['api.domain'] === null &&
        'closed needs a domain in api.domain, as the API has no other address',
    ],
  ],
  ['api.domain', certificate],
  ['storage.restoredTable', restoredTable],
  ['mail.sender', mailDomain],
]

/** Finds values that have no effect, or another one, because of the values of other settings. @returns a line for each */
export function conflictsOf(settings: Settings): string[] {
  return combinations.flatMap(([key, find]) =>
    find(settings)
      .filter((problem) => typeof problem === 'string')
      .map((problem) => `  ${key}: ${problem}`),
  )
}
