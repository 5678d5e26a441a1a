import * as v from 'valibot'
import { Email, instant } from '../platform/formats/text.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'

/** The columns of a customer file. */
export const customerColumns = {
  required: ['email'],
  optional: ['name', 'country', 'created_at'],
} as const

const optionalText = v.optional(v.pipe(v.string(), v.trim()))

/** A row of the file. The e-mail address and the time have the same rules as elsewhere in the service. */
const CustomerRow = v.object({
  email: Email,
  name: optionalText,
  country: optionalText,
  created_at: v.optional(instant),
})

/** The customer data of a row. */
export interface CustomerData {
  email: string
  name?: string
  country?: string
  created_at?: string
}

/** The first error of a row. */
interface RowError {
  code: string
  field: string | null
}

export function readCustomer(
  cells: Readonly<Record<string, string>>,
  settings: Settings,
): { customer: CustomerData } | { error: RowError } {
  // Only the e-mail is required; other empty cells are ignored.
  const filledCells = Object.entries(cells).filter(
    ([column, cell]) => column === 'email' || cell.trim() !== '',
  )
  const parsed = v.safeParse(CustomerRow, Object.fromEntries(filledCells), { abortEarly: true })
  if (!parsed.success) {
    const { code, details } = invalidFields(parsed.issues, settings)
    return { error: { code, field: Object.keys(details?.fields ?? {})[0] ?? null } }
  }
  return { customer: parsed.output as CustomerData }
}
