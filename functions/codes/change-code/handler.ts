import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { endpoint as replace } from '../replace-code/handler.ts'
import { endpoint as update } from '../update-code/handler.ts'

/** PATCH and PUT /codes/{id}. */
export const endpoints = [update, replace]

export const handler = httpFunction(endpoints)
