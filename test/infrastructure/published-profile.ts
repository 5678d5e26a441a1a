import { readFile } from 'node:fs/promises'
import { localProfile } from '#bin/settings-file.ts'

/** The local profile with addresses that the world can reach, as a stage on AWS has them. */
export async function publishedProfile(): Promise<Record<string, unknown>> {
  const profile = JSON.parse(await readFile(localProfile, 'utf8'))
  const issuer = 'https://issuer.example'
  const keys = { jwks_uri: `${issuer}/.well-known/jwks.json` }
  return {
    ...profile,
    'auth.issuers': profile['auth.issuers'].map((one: object) => ({ ...one, issuer, keys })),
    'cors.allowedOrigins': ['https://shop.example'],
    'otp.deliveredOn': 'delivery',
    'refunds.provider': { ...profile['refunds.provider'], endpoint: 'https://api.stripe.com' },
  }
}
