import { Duration, Stack, Validations } from 'aws-cdk-lib'
import { Grant, Role } from 'aws-cdk-lib/aws-iam'
import { Key } from 'aws-cdk-lib/aws-kms'
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import * as sfn from 'aws-cdk-lib/aws-stepfunctions'
import type { Construct } from 'constructs'
import type { StepEntry } from '#functions/steps.ts'
import { graceSeconds, type ImportStep, importSteps } from '#shared/imports/import.ts'
import { acknowledgeRuns, grant, serviceOfAccount } from '../access/grants.ts'
import { grantKey } from '../access/key-grants.ts'
import { type NamedMachine, statesArn } from '../access/rights.ts'
import { invokedBy } from '../functions/release.ts'
import { type Deployment, serviceFunction } from '../functions/service-function.ts'
import { serviceLog } from '../functions/service-log.ts'
import { importDefinition } from './import-definition.ts'

/** A step of the workflow with its function. */
interface WorkingStep {
  name: string
  step: ImportStep
  handler: LambdaFunction
  /** The target of the workflow: the function, or an alias of one of its versions. */
  invoked: IFunction
}

/** Creates one function for each step. */
export function importStepFunctions(
  scope: Construct,
  deployment: Deployment,
  steps: readonly StepEntry[],
): WorkingStep[] {
  return steps.map(({ name, step, description, uses, table }) => {
    const handler = serviceFunction(scope, deployment, {
      name,
      description,
      uses,
      table,
      timeout: Duration.seconds(importSteps[step].seconds + graceSeconds),
      onFailure:
        'The workflow invokes it synchronously, retries it, and fails the operation after the last attempt.',
    })
    return { name, step, handler, invoked: invokedBy(handler, deployment.release) }
  })
}

/** Creates the import workflow. Its role may invoke its steps and run its map. */
export function importMachine(
  scope: Construct,
  { stage, resources }: Deployment,
  steps: readonly WorkingStep[],
): NamedMachine {
  const { key } = resources
  const role = new Role(scope, 'ImportMachineRole', {
    assumedBy: serviceOfAccount(scope, 'states.amazonaws.com'),
  })
  // A fixed name: the permission to run its own map would otherwise be a circular reference.
  const name = `commerce-${stage.name}-imports`
  const functions = Object.fromEntries(steps.map(({ step, invoked }) => [step, invoked]))
  const definition = importDefinition(scope, functions as Record<ImportStep, IFunction>)
  const machine = new sfn.StateMachine(scope, 'ImportMachine', {
    stateMachineName: name,
    // From a chainable, CDK would let the role invoke every version of a function and read the whole bucket.
    definitionBody: sfn.DefinitionBody.fromString(Stack.of(scope).toJsonString(definition.toGraphJson())),
    tracingEnabled: true,
    role,
    logs: {
      destination: serviceLog(scope, 'ImportMachineLog', { stage, key }),
      level: sfn.LogLevel.ALL,
      includeExecutionData: false,
    },
    // CDK grants the role the key for this workflow and for the delivery of its log. It cannot change the policy of an
    // imported key, in which it would let the delivery decrypt everything.
    // https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
    ...(key && {
      encryptionConfiguration: new sfn.CustomerManagedEncryptionConfiguration(
        Key.fromKeyArn(scope, 'ImportMachineKey', key.keyArn),
      ),
    }),
  })
  const stack = Stack.of(scope)
  const functionArns = steps.map(({ invoked }) => invoked.functionArn)
  grant(role, ['lambda:InvokeFunction'], functionArns)
  // The map calls StartExecution with this role, which needs the key of the workflow like any caller.
  grantKey(role, key, ['states:StartExecution'])
  if (key) grantKeyForMap(role, key, statesArn(stack, 'stateMachine', `${name}/Rows`))
  // https://docs.aws.amazon.com/step-functions/latest/dg/iam-policies-eg-dist-map.html
  grant(role, ['states:StartExecution'], [statesArn(stack, 'stateMachine', name)])
  const runs = [`${name}:*`, `${name}/Rows:*`]
  const runArns = runs.map((run) => statesArn(stack, 'execution', run))
  grant(role, ['states:DescribeExecution'], runArns)
  grant(role, ['states:StopExecution'], runArns)
  for (const run of runs) {
    const reason =
      'Runs get their names when they start. The permission covers only its own workflow and map.'
    acknowledgeRuns(role, run, reason)
  }
  Validations.of(role).acknowledge({
    id: 'AwsSolutions-IAM5[Resource::*]',
    reason: 'X-Ray and log delivery accept no resource; nothing else is granted on *.',
  })
  return { machine, name }
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
