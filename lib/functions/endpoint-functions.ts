import { Duration, NestedStack, type Stack } from 'aws-cdk-lib'
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { functionOf, type RouteEntry } from '#functions/routes.ts'
import {
  gatewayPathOf,
  methodsByPath,
  pathOf,
  type Route,
  usesCookies,
} from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { joined, tableUseOf } from '../access/table-use.ts'
import { stoppedFunctions } from './freeze.ts'
import { corsPreflight, pascalCase, unknownRoute } from './function-names.ts'
import { provisionedExecutions } from './provisioned-concurrency.ts'
import { invokedBy } from './release.ts'
import { type Deployment, serviceFunction } from './service-function.ts'

/** A route with the function that handles it. */
export interface EndpointFunction {
  route: Route
  handler: LambdaFunction
  /** The target of the gateway: the function, or an alias of one of its versions. */
  invoked: IFunction
}

const onFailure = 'The gateway invokes it synchronously: the caller gets the failure.'

/** Creates one function for each method of the gateway, with the permissions that its routes declare. */
export function endpointFunctions(
  main: Stack,
  deployment: Deployment,
  routes: readonly RouteEntry[],
): EndpointFunction[] {
  const { stage, settings, resources, release, freeze } = deployment
  const { users } = resources
  const provisioned = provisionedExecutions(settings)
  const byFunction = Map.groupBy(routes, (entry) => functionOf(entry).name)
  return [...byFunction].flatMap(([name, entries]) => {
    // The issuer of the deployment's own users (see `poolIssuer`).
    const issuer = { USER_POOL_ISSUER: users.issuer, USER_POOL_CLIENT_ID: users.client.userPoolClientId }
    // With its role, log, alias and methods.
    const area = stackOfArea(main, name, `Endpoints of ${main.stackName}`)
    const handler = serviceFunction(area, deployment, {
      name,
      description: entries.map(({ route }) => route.summary).join('; '),
      uses: [...new Set(entries.flatMap(({ route }) => route.uses))],
      table: joined(entries.map(({ route }) => tableUseOf(route, settings))),
      timeout: requestTimeout(settings),
      environment: {
        ...(entries.some(({ route }) => route.auth === 'bearer') && issuer),
        ...methodsOfSamePaths(entries, routes, settings),
        ...(stage.basePath !== undefined && { BASE_PATH: stage.basePath }),
      },
      onFailure,
    })
    // AWS refuses provisioned concurrency above the reserved one, which is 0 in a freeze.
    const isStopped = freeze !== undefined && stoppedFunctions(freeze).has(name)
    const invoked = invokedBy(handler, release, isStopped ? undefined : provisioned[name])
    return entries.map(({ route }) => ({ route, handler, invoked }))
  })
}

/** Returns the methods of the paths that the gateway cannot distinguish from those of a function, if there are any. */
function methodsOfSamePaths(
  entries: readonly RouteEntry[],
  all: readonly RouteEntry[],
  settings: Settings,
): { METHODS?: string } {
  const paths = new Set(entries.map(({ route }) => gatewayPathOf(route, settings)))
  const sharing = all.map(({ route }) => route).filter((route) => paths.has(gatewayPathOf(route, settings)))
  const methods = methodsByPath(sharing, settings)
  return Object.keys(methods).length > 1 ? { METHODS: JSON.stringify(methods) } : {}
}

/** Creates the function that answers requests for an unknown path, or for a path that lacks their method. */
export function unknownRouteFunction(
  main: Stack,
  deployment: Deployment,
  routes: readonly RouteEntry[],
): LambdaFunction {
  const { settings, resources } = deployment
  const methods = methodsByPath(
    routes.map(({ route }) => route),
    settings,
  )
  return serviceFunction(main, deployment, {
    name: unknownRoute.name,
    description: 'Answer unknown paths and methods',
    uses: [],
    timeout: requestTimeout(settings),
    // A request names its table when it is opened, but this function has no access to it.
    environment: { METHODS: JSON.stringify(methods), TABLE_NAME: resources.table.tableName },
    onFailure,
  })
}

/** Creates the function that answers preflight requests. Its environment holds the methods of each path. */
export function createPreflightFunction(
  main: Stack,
  deployment: Deployment,
  routes: readonly RouteEntry[],
): LambdaFunction {
  const { settings } = deployment
  const all = routes.map(({ route }) => route)
  const withCookies = all.filter((route) => usesCookies(route, settings))
  return serviceFunction(main, deployment, {
    name: corsPreflight.name,
    description: 'Answer preflight requests',
    uses: [],
    timeout: requestTimeout(settings),
    environment: {
      METHODS: JSON.stringify(methodsByPath(all, settings)),
      COOKIE_PATHS: JSON.stringify(
        Object.fromEntries(withCookies.map((route) => [pathOf(route, settings), true])),
      ),
    },
    onFailure,
  })
}

/**
 * Returns the timeout of a function: the largest request budget plus the time to answer a spent budget, below the
 * gateway's 29 s.
 */
function requestTimeout(settings: Settings): Duration {
  return Duration.seconds(Math.ceil(settings['requests.timeoutHeader'].maxMilliseconds / 1000) + 2)
}

/**
 * Returns the nested stack of an area (`<area>.<verb>`). Each area has one, because CloudFormation accepts only 500
 * resources in one stack.
 */
function stackOfArea(parent: Construct, name: string, description: string): Stack {
  const [area = ''] = name.split('.')
  const id = `${pascalCase(area)}Area`
  const existing = parent.node.tryFindChild(id) as NestedStack | undefined
  if (existing) return existing
  const nested = new NestedStack(parent, id, { description: `${description}, area ${area}.` })
  // By default the id repeats itself, and leaves no room for a function's own name in the names that AWS generates.
  nested.nestedStackResource?.overrideLogicalId(id)
  return nested
}
