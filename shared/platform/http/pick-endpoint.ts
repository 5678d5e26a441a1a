import type { Settings } from '../../settings/register.ts'
import type { Endpoint } from './endpoint.ts'
import type { HttpRequest } from './request.ts'
import { pathOf, pathVariables, verbOf } from './route.ts'

/** An endpoint, and the request with the endpoint's path variables. */
export interface Picked {
  endpoint: Endpoint
  request: HttpRequest
}

/**
 * Picks the endpoint of a request among those that share one gateway method. The gateway treats `x:restore` as an id
 * and ignores the query. An endpoint with a query condition (`when`) takes precedence.
 */
export function pickEndpoint(
  endpoints: readonly Endpoint[],
  request: HttpRequest,
  settings: Settings,
): Picked | undefined {
  const suited = endpoints.flatMap((endpoint) => {
    const params = paramsFor(endpoint, request, settings)
    return params ? [{ endpoint, request: { ...request, params } }] : []
  })
  return suited.find(({ endpoint }) => endpoint.route.when) ?? suited[0]
}

function paramsFor(
  { route }: Endpoint,
  { params, query }: HttpRequest,
  settings: Settings,
): HttpRequest['params'] | undefined {
  const { when } = route
  if (when && !query.some(([name, value]) => name === when.parameter && value === when.value))
    return undefined
  const path = pathOf(route, settings)
  const verb = verbOf(path)
  const last = pathVariables(path).at(-1)
  if (verb === undefined || last === undefined) return params
  const value = params[last] ?? ''
  if (!value.endsWith(`:${verb}`)) return undefined
  return { ...params, [last]: value.slice(0, -verb.length - 1) }
}
