import { CfnSamplingRule } from 'aws-cdk-lib/aws-xray'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from '../stage.ts'

/**
 * Says how many requests the gateway traces. The default rule of an account traces the first one of each second, which at
 * few requests a second is nearly all of them. Functions follow the decision of the gateway.
 */
export function traces(scope: Construct, { name }: Stage, settings: Settings): void {
  new CfnSamplingRule(scope, 'Traces', {
    samplingRule: {
      ruleName: `commerce-${name}`,
      version: 1,
      priority: 100,
      reservoirSize: 0,
      fixedRate: settings['traces.share'],
      // The gateway is `commerce-prod/prod`, the import workflow `commerce-prod-imports`.
      serviceName: `commerce-${name}*`,
      ...{ serviceType: '*', host: '*', httpMethod: '*', urlPath: '*', resourceArn: '*' },
    },
  })
}
