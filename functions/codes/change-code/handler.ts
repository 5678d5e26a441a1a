import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { endpoint as replace } from '../replace-code/handler.ts'
import { endpoint as update } from '../update-code/handler.ts'

/** PATCH and PUT /codes/{id}. */
export const handler = httpFunction([update, replace])
