import type * as v from 'valibot'

/** The part of the service that reads a setting; a part without routes yet has settings that nothing reads. */
export type Feature =
  | 'platform'
  | 'lists'
  | 'orders'
  | 'codes'
  | 'discount'
  | 'refunds'
  | 'webhooks'
  | 'events'
  | 'otp'
  | 'login'
  | 'imports'
  | 'operations'
  | 'versioning'

/** One point that the contract leaves to whoever deploys the service. */
export interface Setting<Schema extends v.GenericSchema> {
  /** What is open, in a sentence: shown when the value is missing or wrong. */
  open: string
  /** The section of the contract that leaves it open. */
  contract: string
  feature: Feature
  /** A published practice that a deployment may follow. */
  precedent?: string
  schema: Schema
}

/** Declares a setting. There are no defaults on purpose: a deployment decides each value. */
export function setting<const Schema extends v.GenericSchema>(entry: Setting<Schema>): Setting<Schema> {
  return entry
}
