import type * as v from 'valibot'
import { authentication } from './register/authentication.ts'
import { codes } from './register/codes.ts'
import { deployment } from './register/deployment.ts'
import { discount } from './register/discount.ts'
import { identity, imports } from './register/identity.ts'
import { money, webhooks } from './register/money.ts'
import { lists, orders } from './register/orders.ts'
import { requests } from './register/requests.ts'

/** Every setting, by key. A new setting is one entry in a file of register/. */
export const register = {
  ...authentication,
  ...requests,
  ...deployment,
  ...lists,
  ...orders,
  ...codes,
  ...discount,
  ...money,
  ...webhooks,
  ...identity,
  ...imports,
}

export type SettingKey = keyof typeof register

/** The values of one deployment, one for each key of the register. */
export type Settings = { readonly [Key in SettingKey]: v.InferOutput<(typeof register)[Key]['schema']> }
