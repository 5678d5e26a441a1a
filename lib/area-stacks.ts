import { NestedStack, type Stack } from 'aws-cdk-lib'
import { pascalCase } from './service-function.ts'

/**
 * Functions deployed before areas had nested stacks. They stay in the main stack: a move would replace the function,
 * delete its log and rename it, and the gateway rejects a second method of the same name. Add nothing here.
 */
const deployedInMainStack: ReadonlySet<string> = new Set([
  'orders.create',
  'orders.read',
  'orders.list',
  'refunds.create',
  'webhooks.receive',
  'codes.create',
  'codes.read',
  'codes.list',
  'codes.update',
  'codes.delete-code',
  'codes.act-on-code',
  'codes.export',
  'codes.import',
  'codes.bulk-update',
  'discount.verify',
  'otp.request',
  'otp.verify',
  'login.sign-in',
  'login.reset-password',
  'imports.create',
  'operations.read',
  'operations.cancel',
  'health.read',
])

/**
 * Returns the stack of an endpoint's function, with its role, log, alias and methods. Each area (`<area>.<verb>`) has a
 * nested stack, because CloudFormation accepts only 500 resources in one stack.
 */
export function stackOfFunction(main: Stack, name: string): Stack {
  if (deployedInMainStack.has(name)) return main
  const id = `${pascalCase(name.slice(0, name.indexOf('.')))}Area`
  const existing = main.node.tryFindChild(id) as NestedStack | undefined
  return existing ?? new NestedStack(main, id, { description: `Endpoints of ${main.stackName}.` })
}
