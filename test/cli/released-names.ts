import { join } from 'node:path'
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { commandName, createProgram, leavesOf } from '#bin/cli/program.ts'
import { errorCatalog } from '#shared/error-catalog.ts'
import { register } from '#shared/settings/register.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import * as client from '../../client/commerce-client.ts'
import { type ExportedTypes, exportedTypes } from './exported-types.ts'

interface ReleasedCommand {
  options: string[]
  requiredOptions: string[]
  /** How many arguments it requires, and how many it accepts. */
  arguments: { required: number; accepted: number }
}

/** The names that clients, scripts and profiles of a deployment use. */
export interface ReleasedNames {
  commands: Record<string, ReleasedCommand>
  settings: string[]
  /** The status of each error code, and whether a retry can help. */
  errors: Record<string, unknown>
  /** The types of received events with their versions: `order.paid.v1`. */
  receivedEvents: string[]
  /** The values that the package of the client exports. */
  clientExports: string[]
  /** The methods of a client. */
  clientMethods: string[]
  /** The types that the package of the client exports: the options of a client, for example. */
  clientTypes: ExportedTypes
}

export function releasedNames(): ReleasedNames {
  const commands = leavesOf(createProgram()).map((command): [string, ReleasedCommand] => [
    commandName(command),
    releasedCommand(command),
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
    clientMethods: Object.keys(client.commerceClient({ baseUrl: 'http://localhost' })),
    clientTypes: exportedTypes(join(import.meta.dirname, '../../client/commerce-client.ts')),
  }
}

function releasedCommand({ options, registeredArguments }: CommandUnknownOpts): ReleasedCommand {
  const named = options.map(({ long, flags, mandatory }) => ({ name: long ?? flags, mandatory }))
  return {
    options: named.map(({ name }) => name),
    requiredOptions: named.filter(({ mandatory }) => mandatory).map(({ name }) => name),
    arguments: {
      required: registeredArguments.filter(({ required }) => required).length,
      accepted: registeredArguments.length,
    },
  }
}
