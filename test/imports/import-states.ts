import { tmpdir } from 'node:os'
import { App, Stack } from 'aws-cdk-lib'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { importDefinition } from '#lib/imports/import-definition.ts'
import { type ImportStep, importSteps } from '#shared/imports/import.ts'

// biome-ignore lint/suspicious/noExplicitAny: states have any shape
type Json = any

/** The import workflow in the Amazon States Language. The resource of a task is the ARN of its step's function. */
export function importStates(): Json {
  // Nothing is synthesized, so nothing is written. Without a folder, CDK would create one and leave it.
  const stack = new Stack(new App({ outdir: tmpdir() }))
  const functions = Object.keys(importSteps).map((step) => {
    const functionArn = `arn:aws:lambda:eu-central-1:111122223333:function:${step}`
    return [step, LambdaFunction.fromFunctionArn(stack, step, functionArn)]
  })
  return stack.resolve(importDefinition(stack, Object.fromEntries(functions)).toGraphJson())
}

/** Returns the step that a task of `importStates` invokes. */
export function stepOf(resource: string): ImportStep {
  return resource.slice(resource.lastIndexOf(':') + 1) as ImportStep
}
