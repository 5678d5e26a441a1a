import { createProgram, leavesOf, nameOf } from '#bin/cli/program.ts'
import { errorCatalog } from '#shared/error-catalog.ts'
import { register } from '#shared/settings/register.ts'

/** The names that clients, scripts and profiles of a deployment use. */
export interface ReleasedNames {
  /** The options of each command. */
  commands: Record<string, string[]>
  settings: string[]
  /** The status of each error code, and whether a retry can help. */
  errors: Record<string, unknown>
}

export function releasedNames(): ReleasedNames {
  const commands = leavesOf(createProgram()).map((command): [string, string[]] => [
    nameOf(command),
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
  }
}
