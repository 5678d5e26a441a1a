import type * as v from 'valibot'
import { authentication } from './register/authentication.ts'
import { codes } from './register/codes.ts'
import { deliveries } from './register/deliveries.ts'
import { deployment } from './register/deployment.ts'
import { identity } from './register/identity.ts'
import { orders } from './register/orders.ts'
import { requests } from './register/requests.ts'
import { workflows } from './register/workflows.ts'

/** Every setting, by key. A new setting is one entry in a file of register/. */
export const register = {
  ...authentication,
  ...requests,
  ...orders,
  ...codes,
  ...identity,
  ...workflows,
  ...deliveries,
  ...deployment,
}

export type SettingKey = keyof typeof register

/** The values of one deployment, one for each key of the register. */
export type Settings = { readonly [Key in SettingKey]: v.InferOutput<(typeof register)[Key]['schema']> }
