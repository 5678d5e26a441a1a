import { commandName, createProgram, leavesOf } from '#bin/cli/program.ts'
import { errorCatalog } from '#shared/error-catalog.ts'
import { register } from '#shared/settings/register.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import * as client from '../../client/commerce-client.ts'

/** The names that clients, scripts and profiles of a deployment use. */
export interface ReleasedNames {
  /** The options of each command. */
  commands: Record<string, string[]>
  settings: string[]
  /** The status of each error code, and whether a retry can help. */
  errors: Record<string, unknown>
  /** The types of received events with their versions: `order.paid.v1`. */
  receivedEvents: string[]
  /** The values that the package of the client exports. */
  clientExports: string[]
  /** The methods of a client. */
  clientMethods: string[]
}

export function releasedNames(): ReleasedNames {
  const commands = leavesOf(createProgram()).map((command): [string, string[]] => [
    commandName(command),
    command.options.map(({ long, flags }) => long ?? flags),
  ])
  const errors = Object.entries(errorCatalog).map(([code, { http, retryable }]) => [
    code,
    { http, retryable },
  ])
  return {
    commands: Object.fromEntries(commands),
    settings: Object.keys(register),
    errors: Object.fromEntries(errors),
    receivedEvents: receivedEvents.map(({ definition: { type, version } }) => `${type}.v${version}`),
    clientExports: Object.keys(client),
    clientMethods: Object.keys(client.commerceClient({ baseUrl: '' })),
  }
}
