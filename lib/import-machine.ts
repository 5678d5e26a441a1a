import { ArnFormat, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib'
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Bucket } from 'aws-cdk-lib/aws-s3'
import { DefinitionBody, LogLevel, StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { Construct } from 'constructs'
import type { ImportStep } from '#shared/imports/import-steps.ts'
import { importFolder } from '#shared/platform/files/file-store.ts'
import { acknowledgeFolder } from './bucket-folder.ts'
import type { NamedMachine } from './grants.ts'
import { importDefinition } from './import-definition.ts'
import type { Stage } from './stage.ts'
import type { WorkingStep } from './step-functions.ts'

export interface ImportMachineProps {
  stage: Stage
  files: Bucket
  steps: readonly WorkingStep[]
}

/** The workflow of imports, with the rights of its own: to invoke its steps, to read manifests and to run its map. */
export function importMachine(scope: Construct, { stage, files, steps }: ImportMachineProps): NamedMachine {
  const role = new Role(scope, 'ImportMachineRole', {
    assumedBy: new ServicePrincipal('states.amazonaws.com'),
  })
  // Named, as its rights to run its own map would refer to what refers to them.
  const stateMachineName = `commerce-${stage.name}-imports`
  const functionArns = Object.fromEntries(
    steps.map(({ entry, handler }) => [entry.step, handler.functionArn]),
  )
  const definition = importDefinition(functionArns as Record<ImportStep, string>, files.bucketName)
  const machine = new StateMachine(scope, 'ImportMachine', {
    stateMachineName,
    definitionBody: DefinitionBody.fromString(Stack.of(scope).toJsonString(definition)),
    tracingEnabled: true,
    role,
    logs: {
      destination: new LogGroup(scope, 'ImportMachineLog', {
        retention: stage.logRetention,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
      level: LogLevel.ALL,
      includeExecutionData: false,
    },
  })
  grantRights(role, stateMachineName, { stage, files, steps })
  return { machine, name: stateMachineName }
}

function grantRights(role: Role, machineName: string, { files, steps }: ImportMachineProps): void {
  const arnOf = (resource: string, resourceName: string) =>
    Stack.of(role).formatArn({
      service: 'states',
      resource,
      resourceName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
  const grant = (action: string, ...resourceArns: string[]) =>
    Grant.addToPrincipal({ grantee: role, actions: [action], resourceArns })
  grant('lambda:InvokeFunction', ...steps.map(({ handler }) => handler.functionArn))
  grant('s3:GetObject', files.arnForObjects(`${importFolder}*`))
  grant('states:StartExecution', arnOf('stateMachine', machineName))
  const chunks = `${machineName}/Rows:*`
  grant('states:DescribeExecution', arnOf('execution', chunks))
  grant('states:StopExecution', arnOf('execution', chunks))
  acknowledgeFolder({ role }, importFolder, { files })
  Validations.of(role).acknowledge(
    {
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${chunks}]`,
      reason: 'The runs of chunks get their names when they begin; it reaches those of its own map only.',
    },
    {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray and the delivery of logs take no resource; nothing else is granted on *.',
    },
  )
}
