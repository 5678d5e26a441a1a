import { join } from 'node:path'
import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'

/** The function that answers OPTIONS on every path. */
export const corsPreflight = {
  name: 'platform.preflight',
  folder: 'platform/preflight',
  impact: 'Browsers cannot call the service from other origins.',
} as const

/** The function that answers what no endpoint takes: an unknown path, or a method that a path lacks. */
export const unknownRoute = {
  name: 'platform.unknown-route',
  folder: 'platform/unknown-route',
} as const

const functions = join(import.meta.dirname, '../../functions')

/** Returns every deployed function: its name, which is the operation of a route, mapped to its entry file. */
export function entryPoints(): Record<string, string> {
  const named = [...routes.map(functionOf), ...subscriptions, ...steps, corsPreflight, unknownRoute]
  return Object.fromEntries(named.map(({ name, folder }) => [name, join(functions, folder, 'handler.ts')]))
}

/** A bundled function: the folder to deploy, and the SHA-256 of its code in hex. */
interface FunctionCode {
  directory: string
  codeSha: string
}

/** The bundled functions by the names of `entryPoints`. */
export type FunctionCodes = Readonly<Record<string, FunctionCode>>

/** The environment variable of a function that holds the release of its version. */
export const releaseVariable = 'RELEASE'

/** The environment variable that records the setting storage.shards of its version, for preflight and rollback. */
export const shardsVariable = 'STORAGE_SHARDS'

/** The alias of each function that everything invokes. */
export const liveAlias = 'live'

/** Returns a name in PascalCase: `orders.list-all` is OrdersListAll. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._ -])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns the stack output that holds the address of a queue. */
export function queueOutput(queue: TaskQueue): string {
  return `${pascalCase(queue)}QueueUrl`
}

/** Returns the stack output that holds the address of the dead letters of a queue, or of a function fed by the stream. */
export function deadLettersOutput(name: string): string {
  return `${pascalCase(name)}DeadLettersUrl`
}

/** Returns the stack output that holds the name of a function that commands invoke. */
export function functionOutput(name: string): string {
  return `${pascalCase(name)}FunctionName`
}
