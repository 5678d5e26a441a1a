import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { endpoint as hardDelete } from '../hard-delete-code/handler.ts'
import { endpoint as softDelete } from '../soft-delete-code/handler.ts'

/** DELETE /codes/{id}, with and without force=true. */
export const endpoints = [hardDelete, softDelete]

export const handler = httpFunction(endpoints, { secret: readSecret })
