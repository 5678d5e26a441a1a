import { Duration, Validations } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { StepEntry } from '#functions/steps.ts'
import { graceSeconds, importSteps } from '#shared/imports/import-steps.ts'
import { codeOf } from './endpoint-functions.ts'
import type { FunctionCodes } from './function-entries.ts'
import { environmentOf } from './function-environment.ts'
import { grantUses, type Resources } from './grants.ts'
import { serviceFunction } from './service-function.ts'
import type { Stage } from './stage.ts'

export interface StepFunctionsProps {
  stage: Stage
  codes: FunctionCodes
  resources: Resources
  steps: readonly StepEntry[]
}

/** A step of a workflow with its function. */
export interface WorkingStep {
  entry: StepEntry
  handler: LambdaFunction
}

/** Creates one function for each step. */
export function stepFunctions(scope: Construct, props: StepFunctionsProps): WorkingStep[] {
  const { stage, codes, resources, steps } = props
  return steps.map((entry) => {
    const { name, step, description, uses } = entry
    const handler = serviceFunction(scope, {
      stage,
      key: resources.key,
      name,
      description,
      code: codeOf(codes, name),
      timeout: Duration.seconds(importSteps[step].seconds + graceSeconds),
      environment: environmentOf(uses, resources),
      concurrency: stage.concurrency?.steps[step],
    })
    grantUses(handler, uses, resources)
    Validations.of(handler).acknowledge({
      id: 'Serverless-LambdaDLQ',
      reason:
        'The workflow invokes it and waits, tries it again, and ends the operation if it fails for good.',
    })
    return { entry, handler }
  })
}
