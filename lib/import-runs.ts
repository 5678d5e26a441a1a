import { ArnFormat, Stack, Validations } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { IConstruct } from 'constructs'

/** A state machine, with the name that identifies its runs. */
export interface NamedMachine {
  machine: StateMachine
  name: string
}

/** @throws Error for a step of the workflow, which is created before the workflow */
export function machineOf({ importMachine }: { importMachine?: NamedMachine }): NamedMachine {
  if (!importMachine) throw new Error('a step of the workflow cannot use the workflow')
  return importMachine
}

/** Returns the ARN pattern of all runs of the workflow, in the stack of the construct. */
export function runsOf({ name }: NamedMachine, of: IConstruct): string {
  return Stack.of(of).formatArn({
    service: 'states',
    resource: 'execution',
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    resourceName: `${name}:*`,
  })
}

/** States why a permission on all runs of the workflow is not too broad. */
export function acknowledgeRuns(handler: IFunction, { name }: NamedMachine): void {
  Validations.of(handler.role ?? handler).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${name}:*]`,
    reason:
      'A run is named by its operation when it is started; it may look at the runs of this workflow only.',
  })
}
