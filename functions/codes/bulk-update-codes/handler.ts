import { codeBulkUpdate } from '#shared/codes/code-bulk-update.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, codeBulkUpdate)

export const handler = httpFunction(endpoint)
