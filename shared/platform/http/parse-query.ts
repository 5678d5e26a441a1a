import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { failField } from '../errors/failure.ts'
import { invalidFields } from './invalid-fields.ts'
import type { Route } from './route.ts'

const none = v.strictObject({})

/**
 * Parses the query parameters of a route that is not a list.
 * @throws VALIDATION.field.*, also for an unknown or repeated parameter
 */
export function parseQuery(
  query: readonly (readonly [string, string])[],
  route: Pick<Route, 'query'>,
  settings: Settings,
): Readonly<Record<string, string | undefined>> {
  const repeated = query.find(([name], index) => query.findIndex(([one]) => one === name) < index)
  if (repeated) throw failField('VALIDATION.field.format', repeated[0], { reason: 'repeated' })
  const result = v.safeParse(route.query?.(settings) ?? none, Object.fromEntries(query))
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}
