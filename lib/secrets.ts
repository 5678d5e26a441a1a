import { SecretValue, Validations } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Secret, type SecretProps } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import { noKey, type SecretName } from '#shared/platform/base/secrets.ts'
import { removalOf } from './data-table.ts'
import type { Stage } from './stage.ts'

/** The secret of the deployment, and the secrets that the service shares with partners, by purpose. */
export type Secrets = Readonly<Record<'deployment' | SecretName, Secret>>

/**
 * Creates the secrets with random values. Nobody sees that of the deployment: keys for each purpose are derived from
 * it. In the others, the operator of the stage stores the values agreed with the partner. Those of API keys hold none
 * until the operator stores one.
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
      removalPolicy: removalOf(stage),
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
  return {
    deployment: secret(
      'DeploymentSecret',
      'The service derives its keys from it, such as the key that authenticates list cursors.',
      {
        value: random(64),
        reason:
          'A rotation invalidates all list cursors, and nobody outside the service knows the secret; it is replaced by hand if its disclosure is suspected.',
      },
    ),
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
