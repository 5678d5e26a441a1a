import { Duration, type Stack, Validations } from 'aws-cdk-lib'
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { functionOf, type RouteEntry } from '#functions/routes.ts'
import { gatewayPathOf, type Route, usesCookies } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { stackOfFunction } from './area-stacks.ts'
import { type FunctionCodes, preflight } from './function-entries.ts'
import { environmentOf, issuerOf } from './function-environment.ts'
import { grantUses, type Resources } from './grants.ts'
import { invokedBy } from './live-alias.ts'
import { serviceFunction } from './service-function.ts'
import type { Stage } from './stage.ts'

export interface EndpointFunctionsProps {
  stage: Stage
  settings: Settings
  codes: FunctionCodes
  resources: Resources
  routes: readonly RouteEntry[]
}

/** A route with the function that handles it. */
export interface Endpoint {
  route: Route
  handler: LambdaFunction
  /** The target of the gateway: the function, or an alias of one of its versions. */
  invoked: IFunction
}

/** Creates one function for each method of the gateway, with the permissions that its routes declare. */
export function endpointFunctions(main: Stack, props: EndpointFunctionsProps): Endpoint[] {
  const { stage, settings, codes, resources, routes } = props
  const byFunction = Map.groupBy(routes, (entry) => functionOf(entry).name)
  return [...byFunction].flatMap(([name, entries]) => {
    const uses = [...new Set(entries.flatMap(({ route }) => route.uses))]
    const handler = serviceFunction(stackOfFunction(main, name), {
      stage,
      key: resources.key,
      name,
      description: entries.map(({ route }) => route.summary).join('; '),
      code: codeOf(codes, name),
      timeout: requestTimeout(settings),
      environment: {
        TABLE_NAME: resources.table.tableName,
        ...environmentOf(uses, resources),
        ...(entries.some(({ route }) => route.auth === 'bearer') && issuerOf(resources.users)),
        ...(stage.basePath !== undefined && { BASE_PATH: stage.basePath }),
      },
    })
    grantUses(handler, uses, resources)
    acknowledgeSynchronous(handler)
    const invoked = invokedBy(handler, stage)
    return entries.map(({ route }) => ({ route, handler, invoked }))
  })
}

/** Creates the function that answers preflight requests. Its environment holds the methods of each path. */
export function preflightFunction(
  scope: Construct,
  { stage, key, settings, codes, routes }: Omit<EndpointFunctionsProps, 'resources'> & Pick<Resources, 'key'>,
): LambdaFunction {
  const handler = serviceFunction(scope, {
    stage,
    key,
    name: preflight.name,
    description: 'Answer preflight requests',
    code: codeOf(codes, preflight.name),
    timeout: requestTimeout(settings),
    environment: {
      METHODS: JSON.stringify(methodsByPath(routes, settings)),
      COOKIE_PATHS: JSON.stringify(cookiePaths(routes, settings)),
    },
  })
  acknowledgeSynchronous(handler)
  return handler
}

/** Returns the gateway methods of a route. HEAD requests the response of GET without its body. */
export function methodsOf({ method }: Pick<Route, 'method'>): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/** Returns the methods of each path: `{"/v1/orders":["GET","HEAD","POST"]}`. */
export function methodsByPath(routes: readonly RouteEntry[], settings: Settings): Record<string, string[]> {
  const byPath = Map.groupBy(routes, ({ route }) => gatewayPathOf(route, settings))
  const methods = [...byPath].map(([path, entries]) => {
    return [path, [...new Set(entries.flatMap(({ route }) => methodsOf(route)))].sort()] as const
  })
  return Object.fromEntries(methods)
}

/** Returns the paths where browsers may send and store cookies: `["/discount/verify"]`. */
function cookiePaths(routes: readonly RouteEntry[], settings: Settings): string[] {
  const found = routes.filter(({ route }) => usesCookies(route, settings))
  return [...new Set(found.map(({ route }) => gatewayPathOf(route, settings)))]
}

export function codeOf(codes: FunctionCodes, name: string): FunctionCodes[string] {
  const code = codes[name]
  if (!code) throw new Error(`the function ${name} was not bundled`)
  return code
}

/**
 * Returns the timeout of a function: the largest request budget plus the time to answer a spent budget, below the
 * gateway's 29 s.
 */
function requestTimeout(settings: Settings): Duration {
  return Duration.seconds(Math.ceil(settings['requests.timeoutHeader'].maxMilliseconds / 1000) + 2)
}

function acknowledgeSynchronous(handler: LambdaFunction): void {
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason: 'The gateway invokes it and waits: a failure goes to the caller, and there is nothing to keep.',
  })
}
