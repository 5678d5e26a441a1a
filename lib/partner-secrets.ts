import { Validations } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import type { SecretName } from '#shared/platform/base/secrets.ts'
import { removalOf } from './data-table.ts'
import type { Stage } from './stage.ts'

/** The secrets that the service shares with partners, by purpose. */
export type PartnerSecrets = Readonly<Record<SecretName, Secret>>

/** Creates the secrets with random values. The operator of the stage stores the values agreed with the partner. */
export function partnerSecrets(scope: Construct, stage: Stage, key?: Key): PartnerSecrets {
  const made = { stage, key }
  return {
    payments: partnerSecret(scope, 'PaymentsSecret', 'The secret key of the payment provider.', made),
    webhooks: partnerSecret(
      scope,
      'WebhooksSecret',
      'The keys that sign webhooks, in base64, separated by spaces: the new one beside the old while it is changed.',
      made,
    ),
  }
}

function partnerSecret(
  scope: Construct,
  id: string,
  description: string,
  { stage, key }: { stage: Stage; key: Key | undefined },
): Secret {
  const secret = new Secret(scope, id, {
    description,
    // Letters and digits only, so the value is valid base64.
    generateSecretString: { passwordLength: 40, excludePunctuation: true },
    removalPolicy: removalOf(stage),
    ...(key && { encryptionKey: key }),
  })
  Validations.of(secret).acknowledge({
    id: 'AwsSolutions-SMG4',
    reason: 'It is changed together with the other party, not by AWS alone.',
  })
  return secret
}
