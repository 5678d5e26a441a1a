import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { DeployedStack } from './deployment.ts'

/** Invokes a function on AWS in its current version, with its own permissions. @returns its result */
export async function invokeFunction(
  FunctionName: string,
  event: string,
  access: DeployedStack['access'],
): Promise<unknown> {
  const { FunctionError, Payload } = await new LambdaClient(access).send(
    new InvokeCommand({ FunctionName, Payload: new TextEncoder().encode(event) }),
  )
  if (FunctionError !== undefined) throw new Error(`${FunctionName} failed: see its log`)
  return JSON.parse(new TextDecoder().decode(Payload))
}
