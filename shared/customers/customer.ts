import * as v from 'valibot'
import { invalidFields } from '../platform/http/invalid-fields.ts'
import { instant } from '../platform/schemas/date-time.ts'
import { Email } from '../platform/schemas/email.ts'
import type { Settings } from '../settings/register.ts'

/** The columns of a file of customers (contract, 'Customer import row'). */
export const customerColumns = {
  required: ['email'],
  ignored: ['name', 'country', 'created_at'],
} as const

const filled = v.optional(v.pipe(v.string(), v.trim()))

/** A row of the file. Only the e-mail has a rule of the contract; a time is one like any other of the service. */
const CustomerRow = v.object({
  email: Email,
  name: filled,
  country: filled,
  created_at: v.optional(instant),
})

/** What a row says of a customer. */
export interface CustomerData {
  email: string
  name?: string
  country?: string
  created_at?: string
}

/** Why a row says nothing of a customer: the first thing that is wrong with it. */
export interface Refused {
  code: string
  field: string | null
}

export function readCustomer(
  cells: Readonly<Record<string, string>>,
  settings: Settings,
): { customer: CustomerData } | { refused: Refused } {
  // Only an e-mail must be there; an empty cell of another column says nothing.
  const given = Object.entries(cells).filter(([column, cell]) => column === 'email' || cell.trim() !== '')
  const parsed = v.safeParse(CustomerRow, Object.fromEntries(given), { abortEarly: true })
  if (!parsed.success) {
    const { code, details } = invalidFields(parsed.issues, settings)
    return { refused: { code, field: Object.keys(details?.fields ?? {})[0] ?? null } }
  }
  return { customer: parsed.output as CustomerData }
}
