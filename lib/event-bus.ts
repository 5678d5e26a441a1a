import { Duration } from 'aws-cdk-lib'
import { type CfnArchive, EventBus } from 'aws-cdk-lib/aws-events'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from './stage.ts'

/** The bus on which subscribers get what happens in the service, and the archive that they can replay from. */
export function eventBus(scope: Construct, stage: Stage, settings: Settings, key?: Key): EventBus {
  const bus = new EventBus(scope, 'EventBus', {
    // Subscribers name it in their own stacks.
    eventBusName: `commerce-${stage.name}`,
    description: 'What happened in the commerce service.',
    ...(key && { kmsKey: key }),
  })
  if (stage.archivesEvents) {
    const archive = bus.archive('EventArchive', {
      description: 'Published events, kept for replay.',
      eventPattern: { source: ['commerce-api'] },
      retention: Duration.days(settings['events.replay'].archiveDays),
    })
    // Its rights to the key stand in own-key.ts.
    if (key) (archive.node.defaultChild as CfnArchive).kmsKeyIdentifier = key.keyArn
  }
  return bus
}
