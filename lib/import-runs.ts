import { ArnFormat, Stack, Validations } from 'aws-cdk-lib'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { IConstruct } from 'constructs'

/** A state machine, with the name that its runs are known under. */
export interface NamedMachine {
  machine: StateMachine
  name: string
}

/** @throws Error for a step of the workflow, which is made before it */
export function machineOf({ importMachine }: { importMachine?: NamedMachine }): NamedMachine {
  if (!importMachine) throw new Error('a step of the workflow cannot use the workflow')
  return importMachine
}

/** All runs of the workflow, in the stack that this is part of. */
export function runsOf({ name }: NamedMachine, of: IConstruct): string {
  return Stack.of(of).formatArn({
    service: 'states',
    resource: 'execution',
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    resourceName: `${name}:*`,
  })
}

/** Says why a right to all runs of the workflow is no broader than it must be. */
export function acknowledgeRuns(handler: IFunction, { name }: NamedMachine): void {
  Validations.of(handler.role ?? handler).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${name}:*]`,
    reason:
      'A run is named by its operation when it is started; it may look at the runs of this workflow only.',
  })
}
