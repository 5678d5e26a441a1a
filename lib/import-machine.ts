import { ArnFormat, Stack, Validations } from 'aws-cdk-lib'
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Bucket } from 'aws-cdk-lib/aws-s3'
import {
  CustomerManagedEncryptionConfiguration,
  DefinitionBody,
  LogLevel,
  StateMachine,
} from 'aws-cdk-lib/aws-stepfunctions'
import type { Construct } from 'constructs'
import type { ImportStep } from '#shared/imports/import-steps.ts'
import { importFolder } from '#shared/platform/formats/file-store.ts'
import { acknowledgeFolder } from './bucket-folder.ts'
import { importDefinition } from './import-definition.ts'
import type { NamedMachine } from './import-runs.ts'
import { grantKey } from './key-grants.ts'
import { serviceLog } from './service-log.ts'
import type { Stage } from './stage.ts'
import type { WorkingStep } from './step-functions.ts'

export interface ImportMachineProps {
  stage: Stage
  key: Key | undefined
  /** The encryption key of its definition and runs. */
  dataKey: Key | undefined
  files: Bucket
  steps: readonly WorkingStep[]
}

/** Creates the import workflow. Its role may invoke its steps, read manifests and run its map. */
export function importMachine(scope: Construct, props: ImportMachineProps): NamedMachine {
  const { stage, key, dataKey, files, steps } = props
  const role = new Role(scope, 'ImportMachineRole', {
    assumedBy: new ServicePrincipal('states.amazonaws.com'),
  })
  // A fixed name: the permission to run its own map would otherwise be a circular reference.
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
      destination: serviceLog(scope, 'ImportMachineLog', { stage, key }),
      level: LogLevel.ALL,
      includeExecutionData: false,
    },
    // CDK grants the role the key for this workflow and for the delivery of its log.
    // https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
    ...(dataKey && { encryptionConfiguration: new CustomerManagedEncryptionConfiguration(dataKey) }),
  })
  grantRights(role, stateMachineName, props)
  return { machine, name: stateMachineName }
}

function grantRights(role: Role, machineName: string, { key, files, steps }: ImportMachineProps): void {
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
  // The map calls StartExecution with this role, which needs the key of the workflow like any caller.
  grantKey(role, key, ['s3:GetObject', 'states:StartExecution'])
  if (key) grantKeyForMap(role, key, arnOf('stateMachine', `${machineName}/Rows`))
  // https://docs.aws.amazon.com/step-functions/latest/dg/iam-policies-eg-dist-map.html
  grant('states:StartExecution', arnOf('stateMachine', machineName))
  const runs = [`${machineName}:*`, `${machineName}/Rows:*`]
  const runArns = runs.map((run) => arnOf('execution', run))
  grant('states:DescribeExecution', ...runArns)
  grant('states:StopExecution', ...runArns)
  acknowledgeFolder({ role }, importFolder, { files })
  Validations.of(role).acknowledge(
    ...runs.map((run) => ({
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${run}]`,
      reason: 'Runs get their names when they begin; it reaches those of its own workflow and its map only.',
    })),
    {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray and the delivery of logs take no resource; nothing else is granted on *.',
    },
  )
}

/**
 * Runs of a map belong to a separate workflow, which is part of the encryption context. CDK grants only that of the
 * main one.
 */
function grantKeyForMap(grantee: Role, key: Key, mapArn: string): void {
  Grant.addToPrincipal({
    grantee,
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    resourceArns: [key.keyArn],
    conditions: { StringEquals: { 'kms:EncryptionContext:aws:states:stateMachineArn': mapArn } },
  })
}
