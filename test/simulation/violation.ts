import type { Item } from '#shared/platform/table/keys.ts'

/** A promise of the service that a schedule broke. */
export class Violation extends Error {
  readonly oracle: string

  constructor(oracle: string, message: string) {
    super(`${oracle}: ${message}`)
    this.oracle = oracle
  }
}

/** @throws Violation if a promise does not hold */
export function check(holds: boolean, oracle: string, message: () => string): void {
  if (!holds) throw new Violation(oracle, message())
}

/** An item of the table at the end of a schedule. */
export type Stored = Item & Record<string, unknown>

/** Returns the items of an entity. */
export type Of = (entity: string) => Stored[]
