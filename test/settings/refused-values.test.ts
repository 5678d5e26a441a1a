import { expect, test } from '@jest/globals'
import { fetchLimits } from '#shared/imports/prepare-import.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { SettingKey } from '#shared/settings/register.ts'
import { keySet, localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { settingsWith, withMembers } from './changes.ts'

/** Values that would have no effect, or another one, and what the message says. Of an object, the members that differ. */
type Row = [changes: Partial<Record<SettingKey, unknown>>, message: string]

const [issuer] = localSettings['auth.issuers']
const { transitions } = localSettings['orders.statuses']
const moves = (some: object) => ({ transitions: { ...transitions, ...some } })
const statuses = (from: unknown, more: object = {}) => ({ ...moves({ 'order.paid': { from } }), ...more })
const limit = (max: number, more: object = {}) => ({
  ...{ limit: max, windowSeconds: 60, per: 'principal', counts: 'requests' },
  ...more,
})
const countBy = (source: number, both: number) => [
  { by: 'source', times: source },
  { by: 'source_and_email', times: both },
]
const { captcha } = localSettings['limits.webAcl']
const hosts = (number: number) => Array.from({ length: number }, (_, n) => `shop${n}.acme.cloud`)
const account = '111122223333'
const elsewhere = { 'aws.environment': { account, region: 'us-east-1' } }
const certificateArn = `arn:aws:acm:eu-west-1:${account}:certificate/1`
const streamOf = (table: string, region = 'us-east-1') =>
  `arn:aws:dynamodb:${region}:${account}:table/${table}/stream/1`
const restored = (streamArn: string) => ({ tableName: 'restored', streamArn })

// biome-ignore format: a table of rows
const rows: Row[] = [
  // Names of what does not exist.
  [{ 'orders.statuses': statuses(['open']) }, 'open is not among all: active, '],
  [{ 'orders.statuses': statuses(['active'], { all: ['active'] }) }, 'paid is not among all: active'],
  [{ 'orders.statuses': statuses(['paid']) }, 'from another status than the one that it announces'],
  [{ 'orders.statuses': moves({ 'order.paid': { from: ['active'], to: 'cancelled' } }) },
    'the event decides the status to which the order moves'],
  [{ 'orders.statuses': moves({ 'order.lost': { from: ['active'] } }) },
    'at transitions.order.lost: expected one {from} for each event that a handler takes: '],
  [{ 'orders.statuses': { transitions: {} } },
    'at transitions.order.paid: expected one {from} for each event that a handler takes: '],
  [{ 'discount.cartOwners': 'https://unknown.example' }, 'https://unknown.example is none of user_pool, sessions,'],
  [{ 'events.payloads': { 'order.placed': 'resource' } },
    'at order.placed: it decides '],
  [{ 'events.payloads': { 'order.paid': 'all' } }, 'at order.paid: say id_and_tenant or resource for this event'],
  [{ 'auth.publicTenant': 'a.b', 'requests.tenantName': { punctuation: '' } },
    'requests.tenantName: a.b of auth.publicTenant is no tenant name'],
  [{ 'refunds.account': 'named' }, 'expected connected, or {prefix} on the local run'],
 [{ 'auth.issuers': [{ ...issuer, claims: { ...issuer?.claims, roles: ['aud'] } }] }, 'expected a claim other than'],
  [{ 'auth.issuers': [{ ...issuer, claims: { ...issuer?.claims, roles: ['"'] } }] }, 'expected the name of a claim'],
  [{ 'auth.issuers': [{ ...issuer, claims: { roles: ['roles'], scopes: ['scope'] } }] },
    'without a claim of the tenant, expected one tenant in tenants'],

  // What stands twice.
  [{ 'auth.issuers': [issuer, issuer] }, 'twice'],
  [{ 'auth.issuers': [issuer, { ...issuer, audience: 'other' }] }, 'two issuers have the same name'],
  [{ 'auth.issuers': [{ ...issuer, types: ['JWT', 'jwt'] }] }, 'two types differ only in their case'],
  [{ 'auth.issuers': [{ ...issuer, keys: { keys: [...keySet.keys, { ...keySet.keys[0], x: 'x' }] } }] },
    'two keys have the same kid'],
  [{ 'auth.sessionOperations': ['discount.verify', 'discount.verify'] }, 'names "discount.verify" twice'],
  [{ 'cors.allowedOrigins': ['https://a.cloud', 'https://a.cloud'] }, 'names "https://a.cloud" twice'],
  [{ 'orders.fields': ['id', 'created_at', 'status', 'id'] }, 'names "id" twice'],
  [{ 'codes.transitions': [1, 2].map(() => ({ from: 'draft', to: 'active' })) }, 'twice'],
  [{ 'requests.tenantName': { punctuation: '..' } }, 'some of . _ -, each once'],
  [{ 'storage.backups': { copies: [1, 2].map((keptDays) => ({ vaultArn: `arn:aws:backup:eu-west-1:${account}:backup-vault:v1`, keptDays}))}},
    'two copies are in the same vault'],
  [{ 'login.countBy': [{ by: 'source', times: 1 }, { by: 'source', times: 5 }]}, 'each kind may be named only once'],
  [{ 'limits.other': { 'orders.list': [limit(1), limit(2)] } },
    'at orders.list: two limits have the same per, counts and windowSeconds'],
  [{ 'auth.csrf': { header: 'X-API-Key' } }, 'auth.apiKeyHeader and auth.csrf name the same header x-api-key'],
  [{ 'discount.cart': { header: 'If-Match' } }, 'discount.cart: if-match has another meaning'],
  [{ 'discount.cartFields': { owner: 'data.currency' } }, 'two paths are the same, or one is within another'],
  [{ 'discount.cartFields': { amount: 'data.currency.amount' } }, 'two paths are the same, or one is within another'],
  [{ 'discount.cartFields': { owner: 'data.id' } }, 'data have another meaning'],

  [{ 'auth.mfa': { operations: ['discount.verify'] } },
    'auth.sessionOperations: discount.verify requires a second factor (auth.mfa), and a session has none'],
  [{ 'discount.cartOwners': 'sessions', 'auth.sessionOperations': [] },
    'sessions own carts, but auth.sessionOperations does not contain discount.verify'],

  // What is never reached, because something else is first.
  [{ 'login.countBy': countBy(2, 2) }, 'the times of source must be above those of source_and_email'],
  [{ 'passwordReset.countBy': countBy(1, 5) }, 'the times of source must be above those of source_and_email'],
  [{ 'otp.sourceThrottle': { requests: 60, wrongAttempts: 60 } }, 'wrongAttempts must be below requests'],
  [{ 'otp.sourceThrottle': { wrongAttempts: 5 } }, 'otp.code: maxAttempts 5 is never reached: otp.sourceThrottle'],
  [{ 'otp.dailyWrongAttempts': { limit: 5 } }, 'otp.code: maxAttempts 5 is never reached: otp.dailyWrongAttempts'],
  [{ 'otp.code': { maxAttempts: 25 } }, 'at maxAttempts'],
  [{ 'limits.other': { 'orders.list': [limit(10), limit(10, { windowSeconds: 30 })] } },
    'a limit is never reached, because another one is reached first'],
  [{ 'limits.other': { 'orders.list': [limit(10), limit(10, { counts: 'failures' })] } },
    'a limit is never reached, because another one is reached first'],
  [{ 'limits.other': { 'orders.list': [limit(10, { per: 'tenant' }), limit(100, { windowSeconds: 600 })] } },
    'a limit is never reached, because another one is reached first'],
  [{ 'limits.webAcl': { anonymous: { requests: 300, windowSeconds: 300 } } },
    'logins is never reached: anonymous counts the same requests and allows 300 in 300 s'],
  [{ 'limits.webAcl': { addresses: { requests: 3000, windowSeconds: 300 } } },
    'anonymous is never reached: addresses counts the same requests'],
  [{ 'idempotency.whilePending': { waitSeconds: 10 } }, 'waitSeconds must be below the time of a request, 10000 ms'],
  [{ 'deliveries.retentionDays': 6 }, 'the retries of deliveries.schedule may take 7 days'],
  [{ 'storage.backups': { keptDays: 8, weeklyKeptDays: 8 } }, 'weeklyKeptDays must be above keptDays'],

  // What cannot be.
  [{ 'codes.types': { half: { kind: 'percentage', value: 50, combinable_with_gift_card: false } } },
    'codes.types at half.rule_id: missing'],
  [{ 'codes.share': { status: 204 } }, 'a 204 has no body'],
  [{ 'codes.transitions': [{ from: 'draft', to: 'draft' }] }, 'an update that keeps the state needs no transition'],
  [{ 'codes.hardDeleteReason': { header: 'X Reason' } }, 'expected a header name'],
  [{ 'webhooks.scheme': { idHeader: '' } }, 'expected a header name'],
  [{ 'webhooks.scheme': { prefix: 'v1, ' } }, 'visible characters of ASCII'],
  [{ 'otp.mail': { subject: 'one\nBcc: two' } }, 'one line that is not empty'],
  [{ 'codes.export': { inlineMaxBytes: 3_000_001 } }, 'at inlineMaxBytes'],
  [{ 'limits.webAcl': { captcha: { ...captcha, tokenDomains: hosts(11) } } }, 'at captcha.tokenDomains: Invalid length'],
  [{ 'imports.result': { linkSeconds: 86_400 } }, 'at linkSeconds'],
  [{ 'imports.maxBytes': { fileUrl: fetchLimits.deadlineSeconds * 1024 ** 2 + 1 } }, 'imports.maxBytes at fileUrl'],
  [{ 'cors.allowedOrigins': ['https://Shop.acme.cloud'] }, 'an origin as browsers send it'],
  [{ 'cors.allowedOrigins': ['https://shop.acme.cloud:443'] }, 'an origin as browsers send it'],
  [{ 'lists.searchFields': { orders: [] } }, 'at orders'],
  [{ 'refunds.provider': { endpoint: 'mailto:pay@acme.cloud' } }, 'expected an address of https'],
  [{ 'auth.issuers': [{ ...issuer, algorithms: ['RS256'] }] }, 'expected a key (kty) for each of the algorithms'],
  [{ 'auth.issuers': [{ ...issuer, tenants: [] }] }, 'at 0.tenants: Invalid length'],
  [{ 'auth.issuers': [{ ...issuer, tenants: ['acme/x'] }] }, 'auth.issuers at 0.tenants.0'],
  [{ 'auth.issuers': [{ ...issuer, tenants: ['a.b'] }], 'requests.tenantName': { punctuation: '-' } },
    'a.b of auth.issuers is no tenant name'],
  [{ 'auth.maxTokenSeconds': 3599 }, 'the tokens of the user pool live longer (login.tokenLifetimes)'],
  [{ 'auth.issuers': [{ ...issuer, issuer: 'sessions' }] }, 'a name other than user_pool and sessions'],
  [{ 'auth.mfa': { claim: [] } }, 'at claim'],
  [{ 'idempotency.missingKey': 'VALIDATION.if_match.required' },
    'a VALIDATION code of the catalog with the status 400'],
  [{ 'storage.shards': { tenants: { large: { writes: 4, reads: 2 } } } }, 'at tenants.large: writes is above reads'],
  [{ 'codes.bulkUpdate': { maxItems: 1000, maxBytes: 1_000_000 } }, 'maxBytes must hold maxItems'],
  [{ 'login.countBy': [{ by: 'source', times: 101 }] }, 'at 0.times'],
  [{ 'limits.other': { 'orders.list': [limit(5001)] } }, 'limits.other at'],
  [{ 'otp.sourceThrottle': { requests: 5001 } }, 'otp.sourceThrottle at'],
  [{ 'otp.dailyWrongAttempts': { limit: 1001 } }, 'at limit'],
  [{ 'otp.mailsPerAddress': { limit: 101 } }, 'at limit'],
  [{ 'otp.mailsPerAddress': { windowSeconds: 299 } }, 'at windowSeconds'],
  // A redrive of a dead letter needs the event, and the queue keeps it for 14 days.
  [{ 'webhooks.inboxDays': 13 }, 'webhooks.inboxDays'],
  [{ 'storage.backups': { weeklyKeptDays: 36_501 } }, 'at weeklyKeptDays'],
  [{ 'storage.backups': { weeklyKeptDays: 35.5 } }, 'at weeklyKeptDays'],
  [{ 'storage.backups': { lock: { minDays: 8, maxDays: 365, changeableDays: 3 } } },
    'keptDays and weeklyKeptDays must be within the limits of the lock'],
  [{ 'storage.restoredTable': restored(streamOf('other')) }, 'the stream is of another table'],
  [{ 'api.gatewayAddress': 'closed' }, 'closed needs a domain in api.domain'],
  [{ 'aws.environment': { account, region: 'cn-north-1' } }, 'cn-north-1 has no user pools'],
  [{ 'aws.environment': { account, region: 'eu-south-2' } }, 'eu-south-2 has no SES'],
  [{ ...elsewhere, 'api.domain': { host: 'api.acme.cloud', certificateArn } },
    'the certificate is in eu-west-1: request one in us-east-1, the region of the stack'],
  [{ 'aws.environment': { account: '444455556666', region: 'eu-west-1' }, 'api.domain': { host: 'api.acme.cloud', certificateArn }},
    `the certificate is in account ${account}: request one in 444455556666, the account of the stack`],
  [{ ...elsewhere, 'storage.restoredTable': restored(streamOf('restored', 'eu-west-1')) },
    `storage.restoredTable: the stream is in ${account} eu-west-1, but the stack is not`],
  [{ 'mail.sender': { domain: { identity: 'acme.cloud', mailFrom: 'bounce.acme.dev', verified: true } } },
    'example.com, the domain of from, is not in acme.cloud'],
  [{ 'mail.sender': { domain: { identity: 'example.com', mailFrom: 'bounce.acme.dev', verified: true } } },
    'mailFrom has to be a subdomain of example.com'],
]

test.each(rows)('%j is refused', (changes, message) => {
  const thrown = thrownBy(() => settingsWith(withMembers(changes)))
  expect(thrown).toBeInstanceOf(ProfileError)
  expect((thrown as Error).message).toContain(message)
})

test.each([
  { 'aws.environment': { account, region: 'eu-south-2' }, 'mail.sender': null },
  { ...elsewhere, 'storage.restoredTable': restored(streamOf('restored')) },
  { 'api.gatewayAddress': 'closed', 'api.domain': { host: 'api.acme.cloud', certificateArn } },
  { 'mail.sender': { domain: { identity: 'example.com', mailFrom: 'bounce.example.com', verified: true } } },
  { 'limits.other': { 'orders.list': [limit(10), limit(100, { windowSeconds: 3600 })] } },
  { 'login.countBy': countBy(2, 1) },
  { 'limits.webAcl': { captcha: { ...captcha, tokenDomains: hosts(10) } } },
])('%j is accepted', (changes) => {
  expect(() => settingsWith(withMembers(changes))).not.toThrow()
})
