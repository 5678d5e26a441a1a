import { type Answer, errorAnswer } from './stripe-wire.ts'

const selections = /^(charge|created\[(gte|lt)\]|limit|starting_after|expand\[.*\])$/

/**
 * Returns a page of a list as Stripe documents it: newest first, 10 objects unless `limit` says otherwise. What the
 * service does not use is an unknown parameter.
 * https://docs.stripe.com/api/pagination
 * @param all the objects of the list, oldest first
 */
export function pageOf(
  all: readonly { id: string; created: number }[],
  parameters: Record<string, string>,
): Answer {
  const { limit: asked = '10', starting_after: after, 'created[gte]': from, 'created[lt]': to } = parameters
  const unknown = Object.keys(parameters).find((name) => !selections.test(name))
  if (unknown) return refused(unknown, 'parameter_unknown', `Received unknown parameter: ${unknown}`)
  const limit = Number(asked)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    return refused(
      'limit',
      'parameter_invalid_integer',
      `This value must be between 1 and 100 (got ${asked}).`,
    )
  const newestFirst = all.toReversed()
  const position = newestFirst.findIndex(({ id }) => id === after)
  if (after !== undefined && position < 0)
    return refused('starting_after', 'resource_missing', `No such object: '${after}'`)
  const rest = newestFirst
    .slice(position + 1)
    .filter(({ created }) => created >= Number(from ?? 0) && (to === undefined || created < Number(to)))
  const data = rest.slice(0, limit)
  return { status: 200, body: { object: 'list', url: '/v1/refunds', has_more: rest.length > limit, data } }
}

function refused(param: string, code: string, message: string): Answer {
  return errorAnswer(400, { code, param, message })
}
