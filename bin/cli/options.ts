import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { tenantPattern } from '#shared/platform/table/keys.ts'

/** A command line that is wrong as a whole. Wrong values of single options are InvalidArgumentErrors. */
export class UsageError extends Error {}

export const tenant = new Option('--tenant <name>', 'the tenant').argParser(parseTenant).makeOptionMandatory()
export const stack = new Option('--stack <name>', 'a stack of your AWS account instead of the local run')
export const awsStack = new Option('--stack <name>', 'the stack of your AWS account').makeOptionMandatory()
export const settings = new Option(
  '--settings <file>',
  'the profile of the deployment; by default the local one',
)
export const url = new Option('--url <address>', 'another address of the service than that of the stack')
export const yes = new Option('--yes', 'do not ask')

/** Returns the deployment that --stack names. */
export async function stackOf(name: string | undefined) {
  return (await import('../commands/stack/deployment.ts')).deployedStack(name)
}

/** Returns the table of the deployment that --stack names. */
export async function tableOf(name: string | undefined) {
  return (await import('../commands/stack/deployment.ts')).openTable(await stackOf(name))
}

/** Returns the operator who runs a command on the deployment that --stack names. */
export async function operatorOf(name: string | undefined) {
  return (await import('../commands/stack/operator.ts')).operatorOn(await stackOf(name))
}

/** Returns the profile that --settings names. */
export async function settingsOf(file: string | undefined) {
  return (await import('../build/settings-file.ts')).loadSettings(file)
}

/** Returns the secret on standard input, without the line end. @throws UsageError if there is none */
export async function secretFrom(input: AsyncIterable<Buffer | string>): Promise<string> {
  const secret = (await text(input)).replace(/\r?\n$/, '')
  if (secret === '') throw new UsageError('standard input is empty')
  return secret
}

export type Define = ReturnType<typeof definer>

/**
 * Returns the function that adds commands to a program, such as `api-keys list` in the group `api-keys`. Brackets make a
 * command the default of its group: `events [listen]`.
 */
export function definer(program: Command) {
  const groups = new Map<string, Command>()
  return (path: string, description: string, ...examples: string[]) => {
    const [name = '', group] = path.replace(/[[\]]/g, '').split(' ').reverse()
    if (group && !groups.has(group)) groups.set(group, program.command(group))
    const parent = groups.get(group ?? '')
    const lines = examples.map((example) => `  $ npx commerce ${example}`)
    const command = (parent ?? program)
      .command(name, { isDefault: path.endsWith(']') })
      .description(description)
    if (parent) command.helpGroup(parent.helpGroup())
    return command.addHelpText('after', ['\nExamples:', ...lines].join('\n'))
  }
}

/** @throws InvalidArgumentError for a name that no tenant can have */
export function parseTenant(text: string): string {
  if (tenantPattern.test(text)) return text
  throw new InvalidArgumentError(`It takes a name that matches ${tenantPattern.source}`)
}

/** Returns event types that are separated by commas. @throws InvalidArgumentError if there are none */
export function parseEvents(text: string): string[] {
  const events = [...new Set(text.split(',').map((type) => type.trim()))].filter(Boolean)
  if (events.length > 0) return events
  throw new InvalidArgumentError('It takes event types, separated by commas.')
}

/** @throws InvalidArgumentError for anything but a time in UTC */
export function parseTime(text: string): Date {
  const time = new Date(text)
  if (text.endsWith('Z') && !Number.isNaN(time.getTime())) return time
  throw new InvalidArgumentError('It takes a time in UTC, such as 2026-01-31T12:00:00Z.')
}

/** @throws InvalidArgumentError for anything but a whole number */
export function parseWholeNumber(text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It takes a whole number.')
}

/** @throws InvalidArgumentError for anything but a JSON object */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {}
  throw new InvalidArgumentError('It takes a JSON object.')
}
