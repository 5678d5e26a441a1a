import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { endpoint as restore } from '../restore-code/handler.ts'
import { endpoint as share } from '../share-code/handler.ts'

/** POST /codes/{id}:restore and /codes/{id}:share. The gateway treats the verb as part of the id. */
export const endpoints = [restore, share]

export const handler = httpFunction(endpoints)
