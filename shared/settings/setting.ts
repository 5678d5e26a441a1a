import type * as v from 'valibot'

/** The part of the service that reads a setting. Nothing reads the settings of a part without routes. */
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

/** A decision that each deployment makes. */
export interface Setting<Schema extends v.GenericSchema> {
  /** The decision in a phrase, shown when the value is missing or wrong. */
  open: string
  /** The section of the API contract that leaves the decision open. */
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
