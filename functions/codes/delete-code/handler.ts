import { lambda } from '#shared/platform/http/lambda.ts'
import { endpoint as hardDelete } from '../hard-delete-code/handler.ts'
import { endpoint as softDelete } from '../soft-delete-code/handler.ts'

/** DELETE /codes/{id}, with and without force=true. */
export const handler = lambda([hardDelete, softDelete])
