import { Stack } from 'aws-cdk-lib'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import type { Severity } from './alarm-types.ts'
import { alarmsOf } from './own-key.ts'
import type { Stage } from './stage.ts'

export interface AlarmTopicsProps {
  stage: Stage
  key: Key | undefined
}

export type AlarmTopics = Readonly<Record<Severity, Topic>>

/** Creates one topic for each severity, to which the operators of the stage subscribe. */
export function alarmTopics(scope: Construct, props: AlarmTopicsProps): AlarmTopics {
  return { page: alarmTopic(scope, 'Pages', props), ticket: alarmTopic(scope, 'Tickets', props) }
}

function alarmTopic(scope: Construct, id: string, { stage, key }: AlarmTopicsProps): Topic {
  const topic = new Topic(scope, id, {
    displayName: `commerce-${stage.name} ${id.toLowerCase()}`,
    enforceSSL: true,
    ...(key && { masterKey: key }),
  })
  // The policy of a topic replaces the default one, which lets the account publish.
  // https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-use-cases.html
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'PublishAlarms',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: alarmsOf(Stack.of(topic), stage),
    }),
  )
  return topic
}
