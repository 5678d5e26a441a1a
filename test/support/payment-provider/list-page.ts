import { type Answer, errorAnswer } from './stripe-wire.ts'

const selections = /^(charge|created(\[(gte|gt|lte|lt)\])?|limit|starting_after|ending_before|expand\[.*\])$/

/**
 * Returns a page of a list as Stripe documents it: newest first, 10 objects unless `limit` says otherwise.
 * https://docs.stripe.com/api/pagination
 * @param all the objects of the list, oldest first
 */
export function pageOf(
  all: readonly { id: string; created: number }[],
  parameters: Record<string, string>,
): Answer {
  const { limit: asked = '10', starting_after: after, ending_before: before } = parameters
  const unknown = Object.keys(parameters).find((name) => !selections.test(name))
  if (unknown) return refused(unknown, 'parameter_unknown', `Received unknown parameter: ${unknown}`)
  const limit = Number(asked)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    return refused(
      'limit',
      'parameter_invalid_integer',
      `This value must be between 1 and 100 (got ${asked}).`,
    )
  if (after !== undefined && before !== undefined)
    return refused('ending_before', '', 'You cannot parameterize starting_after and ending_before together.')
  const cursor = after ?? before
  const newestFirst = all.toReversed()
  const position = newestFirst.findIndex(({ id }) => id === cursor)
  if (cursor !== undefined && position < 0)
    return refused(
      after === undefined ? 'ending_before' : 'starting_after',
      'resource_missing',
      `No such object: '${cursor}'`,
    )
  const selected = newestFirst.filter(({ created }) => isCreated(created, parameters))
  const beyond = new Set(
    before === undefined ? newestFirst.slice(position + 1) : newestFirst.slice(0, position),
  )
  const rest = selected.filter((object) => beyond.has(object))
  const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit)
  return { status: 200, body: { object: 'list', url: '/v1/refunds', has_more: rest.length > limit, data } }
}

function isCreated(created: number, parameters: Record<string, string>): boolean {
  const {
    created: exactly,
    'created[gte]': gte,
    'created[gt]': gt,
    'created[lte]': lte,
    'created[lt]': lt,
  } = parameters
  return (
    (exactly === undefined || created === Number(exactly)) &&
    (gte === undefined || created >= Number(gte)) &&
    (gt === undefined || created > Number(gt)) &&
    (lte === undefined || created <= Number(lte)) &&
    (lt === undefined || created < Number(lt))
  )
}

function refused(param: string, code: string, message: string): Answer {
  return errorAnswer(400, { ...(code && { code }), param, message })
}
