import { CodeReplacement } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { route as update } from '../update-code/route.ts'

export const route = defineRoute({
  ...update,
  operation: 'codes.replace',
  method: 'PUT',
  summary: 'Replace the fields of a discount code',
  description: 'Sets the name and the expiry of a code, which are both required; otherwise like PATCH.',
  body: CodeReplacement,
  example: () => ({ name: 'Late summer sale', expiry_at: '2099-10-01T00:00:00Z' }),
})
