import { readFile } from 'node:fs/promises'
import { localProfile } from '#bin/build/settings-file.ts'

/** The local profile with public addresses, as a stage on AWS needs them. */
export async function publishedProfile(): Promise<Record<string, unknown>> {
  const profile = JSON.parse(await readFile(localProfile, 'utf8'))
  const issuer = 'https://issuer.acme.cloud'
  const keys = { jwks_uri: `${issuer}/.well-known/jwks.json` }
  return {
    ...profile,
    'aws.environment': { account: '111122223333', region: 'eu-west-1' },
    'auth.issuers': profile['auth.issuers'].map((one: object) => ({ ...one, issuer, keys })),
    'discount.cartOwners': issuer,
    'cors.allowedOrigins': ['https://shop.acme.cloud'],
    'otp.deliveredOn': 'delivery',
    'limits.webAcl': {
      ...profile['limits.webAcl'],
      managedRules: { knownBadInputs: 'Version_1.22', common: 'Version_1.19' },
      captcha: { ...profile['limits.webAcl'].captcha, tokenDomains: ['shop.acme.cloud'] },
    },
    'imports.maxBytes': { ...profile['imports.maxBytes'], inline: 4 * 1024 * 1024 },
    'otp.mail': { ...profile['otp.mail'], from: 'no-reply@mail.acme.cloud' },
    'refunds.account': 'connected',
    'deliveries.addresses': 'public',
    'mail.domain': { identity: 'mail.acme.cloud', mailFrom: 'bounce.mail.acme.cloud', verified: true },
    'refunds.provider': { ...profile['refunds.provider'], endpoint: 'https://api.stripe.com' },
  }
}
