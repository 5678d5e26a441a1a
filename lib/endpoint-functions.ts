import { Duration, NestedStack, type Stack } from 'aws-cdk-lib'
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { functionOf, type RouteEntry } from '#functions/routes.ts'
import { gatewayPathOf, type Route, usesCookies } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { pascalCase, preflight } from './function-entries.ts'
import { invokedBy } from './gradual-deployment.ts'
import { type Deployment, serviceFunction } from './service-function.ts'

/** A route with the function that handles it. */
export interface Endpoint {
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
): Endpoint[] {
  const { stage, settings, resources } = deployment
  const { table, users } = resources
  const byFunction = Map.groupBy(routes, (entry) => functionOf(entry).name)
  return [...byFunction].flatMap(([name, entries]) => {
    // The issuer of the deployment's own users (see `poolIssuer`).
    const issuer = { USER_POOL_ISSUER: users.issuer, USER_POOL_CLIENT_ID: users.client.userPoolClientId }
    const handler = serviceFunction(stackOfFunction(main, name), deployment, {
      name,
      description: entries.map(({ route }) => route.summary).join('; '),
      uses: [...new Set(entries.flatMap(({ route }) => route.uses))],
      timeout: requestTimeout(settings),
      environment: {
        TABLE_NAME: table.tableName,
        ...(entries.some(({ route }) => route.auth === 'bearer') && issuer),
        ...(stage.basePath !== undefined && { BASE_PATH: stage.basePath }),
      },
      onFailure,
    })
    const invoked = invokedBy(handler, stage)
    return entries.map(({ route }) => ({ route, handler, invoked }))
  })
}

/** Creates the function that answers preflight requests. Its environment holds the methods of each path. */
export function preflightFunction(
  main: Stack,
  deployment: Deployment,
  routes: readonly RouteEntry[],
): LambdaFunction {
  const { settings } = deployment
  const byPath = Map.groupBy(routes, ({ route }) => gatewayPathOf(route, settings))
  const methods = [...byPath].map(([path, entries]) => {
    return [path, [...new Set(entries.flatMap(({ route }) => methodsOf(route)))].sort()] as const
  })
  const withCookies = [...byPath].filter(([, entries]) =>
    entries.some(({ route }) => usesCookies(route, settings)),
  )
  return serviceFunction(main, deployment, {
    name: preflight.name,
    description: 'Answer preflight requests',
    uses: [],
    timeout: requestTimeout(settings),
    environment: {
      // {"/v1/orders":["GET","HEAD","POST"]}
      METHODS: JSON.stringify(Object.fromEntries(methods)),
      COOKIE_PATHS: JSON.stringify(withCookies.map(([path]) => path)),
    },
    onFailure,
  })
}

/** Returns the gateway methods of a route. HEAD requests the response of GET without its body. */
export function methodsOf({ method }: Pick<Route, 'method'>): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/**
 * Returns the timeout of a function: the largest request budget plus the time to answer a spent budget, below the
 * gateway's 29 s.
 */
function requestTimeout(settings: Settings): Duration {
  return Duration.seconds(Math.ceil(settings['requests.timeoutHeader'].maxMilliseconds / 1000) + 2)
}

/**
 * Functions deployed before areas had nested stacks. They stay in the main stack: a move would replace the function,
 * delete its log and rename it, and the gateway rejects a second method of the same name. Add nothing here.
 */
const deployedInMainStack: Readonly<Record<string, readonly string[]>> = {
  orders: ['create', 'read', 'list'],
  refunds: ['create'],
  webhooks: ['receive'],
  codes: [
    'create',
    'read',
    'list',
    'update',
    'delete-code',
    'act-on-code',
    'export',
    'import',
    'bulk-update',
  ],
  discount: ['verify'],
  otp: ['request', 'verify'],
  login: ['sign-in', 'reset-password'],
  imports: ['create'],
  operations: ['read', 'cancel'],
  health: ['read'],
}

/**
 * Returns the stack of an endpoint's function, with its role, log, alias and methods. Each area (`<area>.<verb>`) has a
 * nested stack, because CloudFormation accepts only 500 resources in one stack.
 */
export function stackOfFunction(main: Stack, name: string): Stack {
  const [area = '', verb = ''] = name.split('.')
  if (deployedInMainStack[area]?.includes(verb)) return main
  const id = `${pascalCase(area)}Area`
  const existing = main.node.tryFindChild(id) as NestedStack | undefined
  return existing ?? new NestedStack(main, id, { description: `Endpoints of ${main.stackName}.` })
}
