import { CodeReplacement } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { route as update } from '../update-code/route.ts'

export const route = defineRoute({
  ...update,
  operation: 'codes.replace',
  method: 'PUT',
  summary: 'Replace the fields of a discount code',
  description:
    'Takes a code as it was read, with another name or expiry, which are both required. Other fields may be sent as they are; another value of one that cannot be written is refused. An expiry that has passed may stay. Otherwise like PATCH.',
  body: CodeReplacement,
  example: () => ({ name: 'Late summer sale', expiry_at: '2099-10-01T00:00:00Z' }),
})
