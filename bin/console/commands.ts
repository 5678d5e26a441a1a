import type { ConsoleEntry } from './activity.ts'

/** A message of a dead-letter queue in the entry of the queue. */
type Letter = { id: string } & Record<string, unknown>

/** Returns an entry with the commands that act on it, filled in. @param stack that of --stack; undefined for the local run */
export function withCommands(entry: ConsoleEntry, stack: string | undefined): ConsoleEntry {
  const line = (name: string, values: string[], options: Options = {}) =>
    commandLine(name, values, stack === undefined ? options : { ...options, stack })
  if (entry.kind === 'queue') {
    const letters = (entry.dead_letters as Letter[]).map((letter) => ({
      ...letter,
      commands: [
        ...line('dead-letters redrive', [entry.id, letter.id]),
        ...line('dead-letters discard', [entry.id, letter.id], { yes: true }),
      ],
    }))
    return {
      ...entry,
      dead_letters: letters,
      ...(letters.length > 0 && { commands: line('dead-letters redrive', [entry.id]) }),
    }
  }
  const tenant = String(entry.tenant ?? entry.tenant_id ?? '')
  const commands = commandsOf(entry, tenant).flatMap(([name, values, options]) =>
    line(name, values, { tenant, ...profileFor(name, stack), ...options }),
  )
  return commands.length > 0 ? { ...entry, commands } : entry
}

/** Returns the commands on an entry of a tenant. */
function commandsOf(
  entry: ConsoleEntry,
  tenant: string,
): [name: string, values: string[], options?: Options][] {
  const { kind, id, state, status, subscriber_id, token_sub } = entry
  if (tenant === '') return []
  if (kind === 'delivery')
    return [
      ['deliveries resend', [id]],
      ['subscribers pause', [String(subscriber_id)]],
    ]
  if (kind === 'subscriber' && state !== 'deleted')
    return [[state === 'active' ? 'subscribers pause' : 'subscribers resume', [id]]]
  if (kind === 'refund' && status === 'pending')
    // Only the account at the payment provider shows the outcome: the command is refused until somebody fills it in.
    return [['refunds settle', [id], { outcome: 'OUTCOME' }]]
  const [, key] = /^api-key:(.+)$/s.exec(String(token_sub ?? '')) ?? []
  return kind === 'audit' && key !== undefined ? [['api-keys revoke', [key], { yes: true }]] : []
}

/** Returns the profile of a stack as the README names it: this command refuses --stack without it. */
function profileFor(name: string, stack: string | undefined): Options {
  const isNeeded = stack !== undefined && name === 'refunds settle'
  return isNeeded ? { settings: `profiles/${stack.split('-').at(-1)}.json` } : {}
}

type Options = Record<string, string | true>

/**
 * Returns a command line to paste into a shell. Values are quoted, because callers have sent some of them.
 * @returns none if a value could be taken for an option, or act on the terminal
 */
function commandLine(name: string, values: readonly string[], options: Options): string[] {
  const given = [...values, ...Object.values(options).filter((value) => value !== true)]
  if (given.some((value) => value === '' || value.startsWith('-') || /\p{C}/u.test(value))) return []
  const flags = Object.entries(options).map(([option, value]) =>
    value === true ? `--${option}` : `--${option} ${quoted(value)}`,
  )
  return [['npx commerce', name, ...values.map(quoted), ...flags].join(' ')]
}

function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
