import { Validations } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import { removalOf } from './data-table.ts'
import type { Stage } from './stage.ts'

/**
 * Creates the secret of this deployment. AWS generates it and nobody sees it. Keys for each purpose are derived from
 * it.
 */
export function deploymentSecret(scope: Construct, stage: Stage, key?: Key): Secret {
  const secret = new Secret(scope, 'DeploymentSecret', {
    description: 'Keys that the service derives for itself, such as the one that seals list cursors.',
    generateSecretString: { passwordLength: 64, excludePunctuation: true },
    removalPolicy: removalOf(stage),
    ...(key && { encryptionKey: key }),
  })
  Validations.of(secret).acknowledge({
    id: 'AwsSolutions-SMG4',
    reason:
      'Rotating it ends every list walk that is under way, and no party outside the service knows it; it is replaced by hand when its disclosure is suspected.',
  })
  return secret
}
