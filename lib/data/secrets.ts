import { SecretValue, Validations } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Secret, type SecretProps } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import { type KeyName, keyNames, noKey, type SecretName } from '#shared/platform/base/secrets.ts'
import { pascalCase } from '../functions/function-names.ts'
import type { Stage } from '../stage.ts'
import { removalPolicyOf } from './data-table.ts'

/** The secrets of keys, and the secrets that the service shares with partners. */
export type Secrets = Readonly<Record<KeyName | SecretName, Secret>>

/** What each key does. */
const keyDescriptions: Readonly<Record<KeyName, string>> = {
  cursors: 'Seals the cursors of lists.',
  one_time_codes: 'Gives one-time codes their digits.',
  sessions: 'Gives the cookies of sessions their secrets.',
  hashes: 'Hashes e-mail addresses and networks of callers. User ids are such hashes.',
  codes: 'Hashes the texts of codes that were deleted for good, in the audit.',
  mails: 'Seals the addresses of queued mails with one-time codes.',
  resets: 'Seals the addresses of queued password resets.',
  subscribers: 'Seals the secrets that sign the events of subscribers.',
}

/**
 * Creates the secrets with random values. Nobody sees those of keys. In the others, the operator of the stage stores the
 * values agreed with the partner. Those of API keys name none until the operator stores one.
 */
export function secrets(scope: Construct, stage: Stage, key?: Key): Secrets {
  const secret = (
    id: string,
    description: string,
    { value, reason }: { value: SecretProps; reason: string },
  ) => {
    const created = new Secret(scope, id, {
      description,
      ...value,
      removalPolicy: removalPolicyOf(stage),
      ...(key && { encryptionKey: key }),
    })
    Validations.of(created).acknowledge({ id: 'AwsSolutions-SMG4', reason })
    return created
  }
  // Letters and digits only, so the value is valid base64.
  const random = (passwordLength: number): SecretProps => ({
    generateSecretString: { passwordLength, excludePunctuation: true },
  })
  const none: SecretProps = { secretStringValue: SecretValue.unsafePlainText(noKey) }
  const shared = { value: random(40), reason: 'It is changed together with the partner, not by AWS alone.' }
  const ofKey = {
    value: random(64),
    reason:
      'A rotation invalidates what the key sealed, and nobody outside the service knows the secret; it is replaced by hand if its disclosure is suspected.',
  }
  const keys = keyNames.map((name) => [
    name,
    secret(`${pascalCase(name)}Secret`, keyDescriptions[name], ofKey),
  ])
  return {
    ...(Object.fromEntries(keys) as Record<KeyName, Secret>),
    payments: secret('PaymentsSecret', `The secret key of the payment provider, or '${noKey}'.`, {
      ...shared,
      value: none,
    }),
    webhooks: secret(
      'WebhooksSecret',
      'The signing keys of webhooks in base64, separated by spaces: both the old and the new key during a rotation.',
      shared,
    ),
    stripe_webhooks: secret(
      'StripeWebhooksSecret',
      "The signing secrets of Stripe's webhook endpoint, separated by spaces: both the old and the new one during a rotation.",
      shared,
    ),
    probe: secret('ProbeSecret', `The API key of the probe, or '${noKey}'.`, {
      value: none,
      reason: 'The service makes and revokes its own API keys.',
    }),
  }
}
