import { Duration, Validations } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { Route } from '#shared/platform/http/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type FunctionCodes, preflight } from './function-entries.ts'
import { grantUses, type Resources } from './grants.ts'
import { serviceFunction } from './service-function.ts'
import type { Stage } from './stage.ts'

export interface EndpointFunctionsProps {
  stage: Stage
  settings: Settings
  codes: FunctionCodes
  resources: Resources
  routes: readonly Route[]
}

/** A route with the function that answers it. */
export interface Endpoint {
  route: Route
  handler: LambdaFunction
}

/** One function for each route, with the rights that the route says it uses. */
export function endpointFunctions(scope: Construct, props: EndpointFunctionsProps): Endpoint[] {
  const { stage, settings, codes, resources, routes } = props
  return routes.map((route) => {
    const handler = serviceFunction(scope, {
      stage,
      name: route.operation,
      description: route.summary,
      code: codeOf(codes, route.operation),
      timeout: requestTimeout(settings),
      environment: {
        TABLE_NAME: resources.table.tableName,
        ...(stage.basePath !== undefined && { BASE_PATH: stage.basePath }),
        ...(route.uses.includes('secret.read') && { SECRET_ARN: resources.secret.secretArn }),
      },
    })
    grantUses(handler, route.uses, resources)
    acknowledgeSynchronous(handler)
    return { route, handler }
  })
}

/** The function that answers preflight requests; it knows the methods of each path from its environment. */
export function preflightFunction(
  scope: Construct,
  { stage, settings, codes, routes }: Omit<EndpointFunctionsProps, 'resources'>,
): LambdaFunction {
  const handler = serviceFunction(scope, {
    stage,
    name: preflight.name,
    description: 'Answer preflight requests',
    code: codeOf(codes, preflight.name),
    timeout: requestTimeout(settings),
    environment: { METHODS: JSON.stringify(methodsByPath(routes)) },
  })
  acknowledgeSynchronous(handler)
  return handler
}

/** The methods that the gateway takes for a route: HEAD asks for what GET answers, without the body. */
export function methodsOf({ method }: Pick<Route, 'method'>): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/** `{"/v1/orders":["GET","HEAD","POST"]}` */
export function methodsByPath(routes: readonly Route[]): Record<string, string[]> {
  const paths = [...new Set(routes.map(({ path }) => path))]
  return Object.fromEntries(
    paths.map((path) => [
      path,
      routes
        .filter((route) => route.path === path)
        .flatMap(methodsOf)
        .sort(),
    ]),
  )
}

export function codeOf(codes: FunctionCodes, name: string): FunctionCodes[string] {
  const code = codes[name]
  if (!code) throw new Error(`the function ${name} was not bundled`)
  return code
}

/** Above the largest budget of a request by what the answer to a spent budget needs, and below the gateway's 29 s. */
function requestTimeout(settings: Settings): Duration {
  return Duration.seconds(Math.ceil(settings['requests.timeoutHeader'].maxMilliseconds / 1000) + 2)
}

function acknowledgeSynchronous(handler: LambdaFunction): void {
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason: 'The gateway invokes it and waits: a failure goes to the caller, and there is nothing to keep.',
  })
}
