import type { Replacement } from './bundle-sdk-replacements.ts'

/** The service uses one of about a hundred resource types of Stripe. */
export const ofStripe: Replacement[] = [
  {
    module: 'stripe/esm/stripe.esm.node.js',
    broughtBy: 'stripe',
    why: `The client makes an object for each kind of thing there is at Stripe, and so brings the code of all of them:
      two thirds of it. Of the others there is none here, so that using one fails at once.`,
    code: withRefundsOnly,
  },
  {
    module: 'stripe/esm/resources.js',
    broughtBy: 'stripe',
    why: 'All the kinds a second time, for callers that construct them by hand.',
    code: 'export {}',
  },
  {
    module: 'stripe/esm/StripeEventNotificationHandler.js',
    broughtBy: 'stripe',
    why: 'Webhooks come by the scheme of the settings, and are verified and handled by the service itself.',
    code: `export class StripeEventNotificationHandler {
      constructor() { throw new Error('Event notifications of Stripe are not in this bundle.') }
    }`,
  },
]

function withRefundsOnly(client: string): string {
  const importLine = /^import \{ (\w+),? \} from '\.\/resources(?!\/Refunds\.js)[^']*';$/gm
  const others = Array.from(client.matchAll(importLine), ([, name]) => name)
  const made = new RegExp(`^ +this\\.\\w+ = new (?:${others.join('|')})\\(this\\);$`, 'gm')
  const kept = client.replace(importLine, '').replace(made, '')
  const left = others.filter((name) =>
    new RegExp(`\\b${name}\\b`).test(kept.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')),
  )
  if (others.length === 0 || left.length > 0 || !kept.includes('new RefundResource(this)')) {
    throw new Error(`The client of Stripe is made otherwise than it was: ${left.slice(0, 3).join(', ')}`)
  }
  return kept
}
